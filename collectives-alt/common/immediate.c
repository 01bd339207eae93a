/* The library's non-blocking functions, with the arguments of a call; see immediate.h. */
#include "immediate.h"

int pl_immediate_start(const struct pl_call *c, MPI_Request *request)
{
    switch (c->function) {
#define PL_COLLECTIVE(symbol, Name, SHAPE)                                                         \
    case PL_FN_##symbol:                                                                           \
        return PL_MPI(I##symbol)(PL_C_##SHAPE, request);
#include "collectives.def"
    case PL_FN_reduce_local:
    case PL_FUNCTION_COUNT:
        break;
    }
    return MPI_ERR_ARG;
}

int pl_immediate(const struct pl_call *call)
{
    int rc;
    MPI_Request request;
    PL_TRY(pl_immediate_start(call, &request));
    PL_TRY(PL_MPI(Wait)(&request, MPI_STATUS_IGNORE));
out:
    return rc;
}
