"""The asynchronous half of the client, from which scripts/make_sync.py writes the synchronous half."""
