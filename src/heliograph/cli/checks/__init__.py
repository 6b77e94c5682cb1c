"""The checks of `heliograph doctor`."""
