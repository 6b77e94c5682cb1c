"""The use cases: bounded steps that use ports. Pure: no loop, no clock, no socket, no log."""
