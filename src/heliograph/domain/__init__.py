"""The rules of the gateway: plain values and functions, without clock, randomness or I/O."""
