"""The queue beside its peers: the same work, on the same server, in one run. `make bench` runs it."""
