/* Gatherv and Scatterv as Alltoallv in which only the root receives, or sends. */
#include "rooted.h"

#include <string.h>

/* One side of the Alltoallv: with counts of 0, any address and any displacements will do. */
struct side {
    const void *buf;
    int *counts;
    const int *places;
    MPI_Datatype type;
};

int pl_rooted_alltoallv(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call->comm, &p, &rank));

    const size_t row = (size_t)p * sizeof(int);
    int *zeros = pl_scratch(call->comm, PL_SLOT_AUX, 4 * row);
    PL_NEED(call, zeros);
    memset(zeros, 0, 4 * row);
    struct side own = {zeros, zeros + p, zeros, MPI_BYTE};
    struct side all = {zeros + 3 * p, zeros + 2 * p, zeros, MPI_BYTE};
    const bool gathers = pl_gathers(call);
    const bool in_place = (gathers ? call->sendbuf : call->recvbuf) == MPI_IN_PLACE;
    if (!in_place) {
        const struct pl_portion portion = pl_own_portion(call);
        own.buf = portion.buf;
        own.type = portion.type;
        own.counts[call->root] = portion.count;
    }
    if (rank == call->root) {
        all.buf = gathers ? call->recvbuf : call->sendbuf;
        all.places = gathers ? call->rdispls : call->sdispls;
        all.type = gathers ? call->recvtype : call->sendtype;
        memcpy(all.counts, gathers ? call->recvcounts : call->sendcounts, row);
        if (in_place)
            all.counts[rank] = 0;
    }
    const struct side *from = gathers ? &own : &all, *to = gathers ? &all : &own;
    PL_TRY(PL_MPI(Alltoallv)(from->buf, from->counts, from->places, from->type, (void *)to->buf,
                             to->counts, to->places, to->type, call->comm));
out:
    return rc;
}
