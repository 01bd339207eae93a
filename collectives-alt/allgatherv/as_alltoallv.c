/* Allgatherv as Alltoallv: every rank sends its one block to all; the send displacements are equal.
 * Datatypes stay as they are unless in place; each message has one sender and one receiver.
 *
 * Source: as guideline GL5 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A, for
 * blocks of several lengths.
 * Cost: Alltoallv; pairwise (p-1) a + (p-1)/p n b.
 * Restrictions: none.
 * Scratch: 2 p integers; in place one block, since what is sent must not be received into. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const void *own = call->sendbuf;
    int count = call->sendcount;
    MPI_Datatype type = call->sendtype;
    if (own == MPI_IN_PLACE) {
        const int bytes = call->recvcounts[rank] * pl_size_of(call->recvtype);
        void *copy = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)bytes);
        PL_NEED(call, copy);
        PL_TRY(pl_pack(pl_at(call->recvbuf, call->rdispls[rank], call->recvtype),
                       call->recvcounts[rank], call->recvtype, copy, bytes, call->comm));
        own = copy;
        count = bytes;
        type = MPI_BYTE;
    }
    const int *counts = pl_tables(call, p, pl_same_block, count, 0);
    PL_NEED(call, counts);
    PL_TRY(pl_inner_Alltoallv(own, counts, counts + p, type, call->recvbuf, call->recvcounts,
                              call->rdispls, call->recvtype, call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgatherv, allgatherv_as_alltoallv, run,
            "Alltoallv in which every rank sends its block to all", .scratch_volumes = 1);
