"""The JSON API: what the page and other programs can read."""
