"""The world outside: a folder for each port, such as `store`, `smpp` or `webhook`. Adapters do not know each other."""
