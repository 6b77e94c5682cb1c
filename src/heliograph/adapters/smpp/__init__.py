"""The carrier over SMPP: an operator account's binds on asyncio, around the sans-I/O sessions of `heliograph.smpp`.

- `kind` declares the settings of such connectors, `options` the dialect among them.
- `carrier` implements the port. It distributes parts over the binds (`recipient_order`). Each `bind` keeps a
  `connection` with its session alive.
- `dial` connects, `encoding` writes submit_sm, `outcome` reads answers, and `receipts` reads receipts.
- `messages` describes errors in words, `refusal_log` logs the operator's refusals, and `probe` tests a connector.
"""
