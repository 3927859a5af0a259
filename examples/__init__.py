"""Programs that show the queue at work."""
