"""The thoughts of `plumbline watch` between campaigns: whether a cell has changed.

Pure: canaries in, states and alarms out. Nobody here reads a clock, a file or the database, starts
a launch, or decides what follows from an alarm."""
