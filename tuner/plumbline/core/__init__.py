"""Values that the rest of the product speaks of: values that know nothing of files, processes or
MPI."""
