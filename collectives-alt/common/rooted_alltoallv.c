/* Gatherv and Scatterv as Alltoallv in which only the root receives, or sends. */
#include "rooted.h"

#include <string.h>

/* One side of the Alltoallv. */
struct side {
    const void *buf;
    const int *counts, *places;
    MPI_Datatype type;
};

/* The counts of a root that keeps its own block. */
static const int *without_own(const struct pl_call *call, const int *counts, int p)
{
    int *others = pl_scratch(call->comm, PL_SLOT_AUX, (size_t)p * sizeof *others);
    if (others) {
        memcpy(others, counts, (size_t)p * sizeof *others);
        others[call->root] = 0;
    }
    return others;
}

int pl_rooted_alltoallv(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const bool gathers = pl_gathers(call);
    const struct pl_portion portion = pl_own_portion(call);
    const int *counts = pl_tables(call, p, pl_one_block, call->root, portion.count);
    PL_NEED(call, counts);
    const int *zeros = counts + p;
    /* With counts of 0, any address and any displacements are valid. */
    struct side own = {portion.count > 0 ? portion.buf : zeros, counts, zeros, portion.type};
    struct side all = {counts, zeros, zeros, MPI_BYTE};
    if (rank == call->root) {
        all = gathers
                  ? (struct side){call->recvbuf, call->recvcounts, call->rdispls, call->recvtype}
                  : (struct side){call->sendbuf, call->sendcounts, call->sdispls, call->sendtype};
        if ((gathers ? call->sendbuf : call->recvbuf) == MPI_IN_PLACE)
            all.counts = without_own(call, all.counts, p);
        PL_NEED(call, all.counts);
    }
    const struct side *from = gathers ? &own : &all, *to = gathers ? &all : &own;
    PL_TRY(pl_inner_Alltoallv(from->buf, from->counts, from->places, from->type, (void *)to->buf,
                              to->counts, to->places, to->type, call->comm, call));
out:
    return rc;
}
