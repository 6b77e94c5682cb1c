"""The SMPP server: customers' clients (ESMEs) bind to us, submit messages, and get receipts and phones' messages.

    connection.py   a connection and its session        requests.py    submit_multi, query_sm, cancel_sm
    submission.py   submit_sm into a request to send     content.py, addresses.py, times.py: its fields
    deliverer.py    notices over binds                   deliveries.py  the bodies of deliver_sm
    registry.py     the binds of this node               server.py      the listener

It is a door like those of HTTP: it calls the same `Sending.send`, so that ledger, route table and history
serve both. Receipts are notices with the way `bind` (`app.notice`).
"""
