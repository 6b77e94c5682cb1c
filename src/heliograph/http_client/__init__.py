"""A client of HTTP/1.1 for many origins at once: connections are shared out by account and address, and guarded."""
