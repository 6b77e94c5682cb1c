"""The carrier over SMPP: an operator account's binds on asyncio, around the sans-I/O sessions of `heliograph.smpp`.

`carrier` is the port; it spreads parts over `bind`s, each of which keeps one `link` (a connection and its session)
alive. `dial` connects, `encoding` writes submit_sm, `outcome` reads answers, `reports` receipts; `options` are a
connector's settings, `reasons` says in words what went wrong, and `probe` tries a connector out.
"""
