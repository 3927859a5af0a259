"""Benchmarks of the queue and its peers: the same work, on the same server, in one run. `make bench` runs them."""
