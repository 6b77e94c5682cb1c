"""The use cases: each one bounded step through ports. Pure: no loop, no clock, no socket, no log."""
