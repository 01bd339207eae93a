"""Processes, paths, this host, modules, charts: what is between Plumbline and the operating system."""
