"""The benchmarks; `make bench` runs them."""
