"""Recordings of applications: what was sent, when and where from, and what is found in it."""
