"""MPICH's variables and tables, as anybody wrote them."""
