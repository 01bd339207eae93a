"""Readers of the database: files for users, metrics for Prometheus, pages for people."""
