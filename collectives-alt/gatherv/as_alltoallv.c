/* Gatherv as Alltoallv in which only the root receives. Every rank knows what it sends, so nothing
 * has to be exchanged before; datatypes stay as they are, each message has one sender and one
 * receiver.
 *
 * Source: the rule that a specialised function is not slower than a more general one; Traeff,
 * Gropp, Thakur, "Self-consistent MPI performance guidelines", IEEE TPDS 21(5), 2010.
 * Cost: Alltoallv with n bytes into the root; linear (p-1) a + (p-1)/p n b.
 * Restrictions: none. Receive arguments of the other ranks are not looked at.
 * Scratch: 4 p integers. */
#include "tools.h"

#include <string.h>

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(PMPI_Comm_size(call->comm, &p));
    PL_TRY(PMPI_Comm_rank(call->comm, &rank));

    const size_t row = (size_t)p * sizeof(int);
    int *zeros = pl_scratch(call->comm, PL_SLOT_AUX, 4 * row);
    if (!zeros)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    memset(zeros, 0, 4 * row);
    int *out_counts = zeros + p, *in_counts = zeros + 2 * p;
    const void *own = zeros; /* where nothing is sent or received, any address will do */
    void *all = zeros + 3 * p;
    const int *places = zeros;
    MPI_Datatype out_type = MPI_BYTE, in_type = MPI_BYTE;
    if (call->sendbuf != MPI_IN_PLACE) {
        own = call->sendbuf;
        out_type = call->sendtype;
        out_counts[call->root] = call->sendcount;
    }
    if (rank == call->root) {
        all = call->recvbuf;
        in_type = call->recvtype;
        places = call->rdispls;
        memcpy(in_counts, call->recvcounts, row);
        if (call->sendbuf == MPI_IN_PLACE)
            in_counts[rank] = 0;
    }
    PL_TRY(PL_MPI(Alltoallv)(own, out_counts, zeros, out_type, all, in_counts, places, in_type,
                             call->comm));
out:
    return rc;
}

const struct pl_variant pl_gatherv_as_alltoallv = {
    .name = "gatherv_as_alltoallv",
    .function = PL_FN_gatherv,
    .kind = PL_MOCKUP,
    .restrictions = PL_ANY,
    .summary = "Alltoallv in which only the root receives",
    .run = run,
};
