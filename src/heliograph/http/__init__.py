"""HTTP/1.1 on a connection: parsing, order, flow control, limits, and the ASGI application behind it."""
