"""The composition root: the only place that names adapters, of the gateway and of single commands."""
