"""Random schedules of sessions, judged by a contract that can be run: README.md says how to use them."""
