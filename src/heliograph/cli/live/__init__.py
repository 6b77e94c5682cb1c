"""A running gateway: its control socket, its figures and its binds."""
