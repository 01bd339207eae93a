/* Inner calls that a rule may be for. */
#include "inner.h"

unsigned pl_ruled;

#ifndef PL_PRELOAD /* there load.c sets it */
__attribute__((constructor)) static void look(void)
{
    pl_ruled = PL_COMPOSE ? ~0u : 0;
}
#endif

int pl_inner_part(const struct pl_call *part, const struct pl_call *outer)
{
    struct pl_call call = *part;
    if (!(pl_ruled >> call.function & 1u))
        return pl_call_mpi(part);
    call.volume = 0;
    call.outer = outer;
    return PL_COMPOSE(&call);
}

#define PL_COLLECTIVE(symbol, Name, SHAPE)                                                         \
    int pl_ruled_##Name PL_P_##SHAPE(int, int, , const struct pl_call *outer)                      \
    {                                                                                              \
        struct pl_call call = pl_no_call;                                                          \
        call.function = PL_FN_##symbol;                                                            \
        PL_F_##SHAPE call.comm = comm;                                                             \
        call.outer = outer;                                                                        \
        return PL_COMPOSE(&call);                                                                  \
    }
#include "collectives.def"
