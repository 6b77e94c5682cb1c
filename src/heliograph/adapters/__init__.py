"""The world outside, one folder a port; adapters do not know each other."""
