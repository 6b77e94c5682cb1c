"""The customers' HTTP API: v1, v2 and health."""
