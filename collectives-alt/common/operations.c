/* MPI's own operations, by their handles. */
#include "variant.h"

enum pl_own_op pl_own_op(MPI_Op op)
{
    return op == MPI_SUM      ? PL_SUM
           : op == MPI_MAX    ? PL_MAX
           : op == MPI_MIN    ? PL_MIN
           : op == MPI_PROD   ? PL_PROD
           : op == MPI_LAND   ? PL_LAND
           : op == MPI_LOR    ? PL_LOR
           : op == MPI_LXOR   ? PL_LXOR
           : op == MPI_BAND   ? PL_BAND
           : op == MPI_BOR    ? PL_BOR
           : op == MPI_BXOR   ? PL_BXOR
           : op == MPI_MINLOC ? PL_MINLOC
           : op == MPI_MAXLOC ? PL_MAXLOC
                              : PL_OWN_OPS;
}
