"""Says what is wrong with files that set an MPI library's collectives: rules files, parameter
files, tables and environments, whoever wrote them.

A file is read as the library reads it, which is silent about nearly everything; each finding names
the line, what it does, why, and what to write in its place. What is known of a library, and of its
own files, stands in the folder of its family, or comes from its search space."""
