"""Actions: what users can do to a queue through the dashboard."""
