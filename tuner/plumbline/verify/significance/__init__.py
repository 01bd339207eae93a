"""The two-sample tests, one a file. statistics.py lists them by name."""
