#include "wrong_blocks.h"

#include "neighbors.h"

#include <stdint.h>

enum { PLACES = 320 }; /* the most blocks of a side */

char *data_at(const void *buf, long long index, MPI_Datatype type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_true_extent(type, &lb, &extent);
    return (char *)((intptr_t)pl_at(buf, index, type) + (intptr_t)lb);
}

static int blocks_received(const struct pl_call *call)
{
    int in, out, p;
    if (pl_has_neighbors(call->function) && pl_degrees(call->comm, &in, &out))
        return in;
    MPI_Comm_size(call->comm, &p);
    return p;
}

int swaps_blocks(const struct pl_call *call)
{
    int rank;
    MPI_Comm_rank(call->comm, &rank);
    const int rc = pl_call_pmpi(call), places = blocks_received(call);
    for (int i = 0; i < call->recvcount && rank == 0 && places > 0; i++) {
        char *first = data_at(call->recvbuf, i, call->recvtype), byte = *first;
        char *last = data_at(call->recvbuf, i + (places - 1L) * call->recvcount, call->recvtype);
        *first = *last;
        *last = byte;
    }
    return rc;
}

int one_block_misplaced(const struct pl_call *call)
{
    int rank, displacements[PLACES];
    MPI_Comm_rank(call->comm, &rank);
    struct pl_call copy = *call;
    const int places = blocks_received(call);
    const bool receives = call->function != PL_FN_gatherv || rank == call->root;
    for (int i = 0; i < places && receives; i++)
        displacements[i] = call->rdispls[i] + (i == places - 1);
    copy.rdispls = displacements;
    return pl_call_pmpi(&copy);
}

int sends_from_one_place(const struct pl_call *call)
{
    int p, displacements[PLACES];
    struct pl_call copy = *call;
    MPI_Comm_size(call->comm, &p);
    if (call->sendbuf == MPI_IN_PLACE)
        return pl_call_pmpi(call);
    for (int i = 0; i < p; i++)
        displacements[i] = call->sdispls[0];
    copy.sdispls = displacements;
    return pl_call_pmpi(&copy);
}

/* `ranks`: of the blocks; NULL: all ranks in turn. */
static void without(const int *counts, const int *ranks, int blocks, int other, int *fewer)
{
    for (int i = 0; i < blocks; i++)
        fewer[i] = (ranks ? ranks[i] : i) == other ? 0 : counts[i];
}

int skips_a_block(const struct pl_call *call)
{
    int p, rank, sent[PLACES], received[PLACES];
    struct pl_call copy = *call;
    struct pl_neighbors *around = NULL;
    MPI_Comm_size(call->comm, &p);
    MPI_Comm_rank(call->comm, &rank);
    if (call->sendbuf == MPI_IN_PLACE || p == 1)
        return pl_call_pmpi(call);
    const int rc = pl_has_neighbors(call->function) ? pl_neighbors(call, &around) : MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        return rc;
    if (rank == 0) {
        without(call->sendcounts, around ? around->destinations : NULL, around ? around->out : p,
                p - 1, sent);
        copy.sendcounts = sent;
    } else if (rank == p - 1) {
        without(call->recvcounts, around ? around->sources : NULL, around ? around->in : p, 0,
                received);
        copy.recvcounts = received;
    }
    return pl_call_pmpi(&copy);
}
