"""A video service at work on a private server: `make demo`. Every claim at the end is counted from history."""
