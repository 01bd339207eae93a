"""The way from violations to winners: what may be tried, what is tried next, what is kept."""
