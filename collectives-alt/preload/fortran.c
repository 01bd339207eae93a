/* The MPI functions that a Fortran application calls: see fortran.h. */
#include "preload.h"

#ifdef OPEN_MPI
#define EXPORT __attribute__((visibility("default")))
#include "fortran.h"

#define PL_COLLECTIVE(name, Name, SHAPE) SUBROUTINE(name, P_##SHAPE(IERROR), MPI_##Name(G_##SHAPE))
#include "collectives.def"
#endif
