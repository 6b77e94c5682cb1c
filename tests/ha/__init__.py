"""The recipe of docs/high-availability.md as a test: `make ha`."""
