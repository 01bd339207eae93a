"""Says what is wrong with files that set an MPI library's collectives: rules files, parameter
files, tables and environments, whoever wrote them.

A file is read as the library reads it, which is silent about nearly everything; each finding names
the line, what it does, why, and what to write in its place. One module knows one format; what is
known of a library stands beside its exporter (ompi_tuned.py, mpich_coll.py, impi_ranges.py,
mv2_ranges.py) or comes from its search space (known.py)."""
