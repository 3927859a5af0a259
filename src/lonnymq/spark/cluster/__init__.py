"""Workers on the executors of a cluster: `run_workers`."""
