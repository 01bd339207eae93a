/* Barrier as Allreduce of one integer.
 *
 * Source: MPI 3.1, sections 5.3 and 5.9.6: the result depends on what every rank contributes, so no
 * rank has it before all have entered. One element it must be: a call with count 0 has no result to
 * wait for and need not synchronise; Open MPI 4.1.4 returns from it at once.
 * Cost: Allreduce(4 bytes); with recursive doubling ceil(log2 p) a.
 * Restrictions: none.
 * Scratch: none. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    const int here = 1;
    int everywhere;
    return pl_inner_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, call->comm, call);
}

PL_DESCRIBE(PL_MOCKUP, barrier, barrier_as_allreduce, run, "Allreduce of one integer");
