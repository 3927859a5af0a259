# scripts/make_sync.py writes this file from _async/__init__.py: do not edit it.
"""The synchronous half of the client, from which scripts/make_sync.py writes the synchronous half."""
