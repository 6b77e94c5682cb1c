"""The carrier over SMPP: an operator account's binds on asyncio, around the sans-I/O sessions of `heliograph.smpp`.

`kind` declares the settings of such connectors, `options` the dialect among them. `carrier` implements the port: it
spreads parts over the binds (`affinity`), each of which (`bind`) keeps one `connection` with its session alive. `dial`
connects, `encoding` writes submit_sm, `outcome` reads answers and `receipts` receipts; `reasons` says in words what
went wrong, `complaints` what the operator refuses, and `probe` tries a connector out.
"""
