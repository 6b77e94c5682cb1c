"""A client of HTTP/1.1 for many origins, such as `https://example.com`. Connections are limited by account and address,
and guarded against internal addresses."""
