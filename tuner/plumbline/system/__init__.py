"""Processes, paths, this host, modules, charts: all that is about the operating system."""
