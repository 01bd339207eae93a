/* Communication volume n of a call in bytes: what docs/plan-and-records.md calls `bytes`.
 *
 *   Barrier                                          0
 *   Bcast, Reduce, Allreduce, Scan, Exscan           count * size of the datatype
 *   Reduce_local                                     the same; there is no communicator
 *   Gather           sendcount * size(sendtype) * p; root in place: recvcount * size(recvtype) * p
 *   Scatter          root: sendcount * size(sendtype) * p, others: recvcount * size(recvtype) * p
 *   Allgather, Alltoall                              recvcount * size(recvtype) * p
 *   Allgatherv                                       sum of recvcounts * size(recvtype)
 *   Reduce_scatter                                   sum of recvcounts * size
 *   Reduce_scatter_block                             recvcount * size * p
 *   Gatherv, Scatterv, Alltoallv, Alltoallw          PL_LOCAL_VOLUME: only the root knows, or none
 *   Neighbor_allgather(v), Neighbor_alltoall(v)      the same: ranks have other numbers of
 * neighbours
 *
 * Each line reads only arguments that are significant on the rank, MPI_IN_PLACE included (a root of
 * Gather that sends in place has significant receive arguments, and so on). The standard makes the
 * signature of these arguments equal on all ranks, and with it the product count * size, which is
 * why the volume is safe to decide by; counts and extents alone are not equal.
 *
 * PL_NO_VOLUME (-1) for inter-communicators, for arguments that no legal call has, for reductions
 * of elements of size 0, and when bytes or elements go past INT_MAX - p: variants count them in
 * `int`, and pad them to p equal blocks. */
#include "tools.h"

#include <limits.h>
#include <stdbool.h>

/* `count` elements on each of `blocks` ranks in bytes; -1 past `most`. A type of size 0 passes with
 * any count, and count 0 with any type: other ranks may write the same empty signature otherwise.
 */
static long long bytes_of(int most, int blocks, long long count, MPI_Datatype type)
{
    long long bytes;
    if (count < 0 || type == MPI_DATATYPE_NULL)
        return -1;
    if (count == 0)
        return 0;
    const int size = pl_size_of(type);
    return size < 0 || __builtin_mul_overflow(blocks * count, size, &bytes) || bytes > most ? -1
                                                                                            : bytes;
}

/* A reduction has one count and one datatype for all ranks, and its variants count elements too.
 * Elements of size 0 may have an extent, of which no volume says how much they take. */
static long long operand_bytes(int most, int blocks, long long count, MPI_Datatype type)
{
    const long long bytes = blocks * count > most ? -1 : bytes_of(most, blocks, count, type);
    return bytes == 0 && count > 0 ? -1 : bytes;
}

static long long sum_of(const int *counts, int p)
{
    long long sum = 0;
    for (int i = 0; i < p; i++) {
        if (counts[i] < 0)
            return -1;
        sum += counts[i];
    }
    return sum;
}

static bool is_rooted(enum pl_function function)
{
    return function == PL_FN_bcast || function == PL_FN_reduce || function == PL_FN_gather ||
           function == PL_FN_gatherv || function == PL_FN_scatter || function == PL_FN_scatterv;
}

long long pl_volume_found(const struct pl_call *call)
{
    int p;
    return pl_volume_and_size(call, &p);
}

long long pl_volume_and_size(const struct pl_call *call, int *size)
{
    *size = 1;
    if (call->function == PL_FN_reduce_local)
        return operand_bytes(INT_MAX, 1, call->recvcount, call->recvtype);
    if (call->comm == MPI_COMM_NULL)
        return PL_NO_VOLUME;

    const struct pl_kept *kept = pl_seen_on(call->comm);
    if (kept) {
        *size = kept->p;
        return kept->inter ? PL_NO_VOLUME : pl_volume_on(call, kept->p, kept->rank);
    }
    int inter, rank = 0;
    if (PMPI_Comm_test_inter(call->comm, &inter) != MPI_SUCCESS || inter)
        return PL_NO_VOLUME;
    PMPI_Comm_size(call->comm, size);
    if (is_rooted(call->function))
        PMPI_Comm_rank(call->comm, &rank);
    return pl_volume_on(call, *size, rank);
}

long long pl_volume_on(const struct pl_call *call, int p, int rank)
{
    if (is_rooted(call->function) && (call->root < 0 || call->root >= p))
        return PL_NO_VOLUME;
    const int most = INT_MAX - p;

    switch (call->function) {
    case PL_FN_barrier:
        return 0;
    case PL_FN_bcast:
        return bytes_of(most, 1, call->recvcount, call->recvtype);
    case PL_FN_reduce:
    case PL_FN_allreduce:
    case PL_FN_scan:
    case PL_FN_exscan:
        return operand_bytes(most, 1, call->recvcount, call->recvtype);
    case PL_FN_gather:
        return rank == call->root && call->sendbuf == MPI_IN_PLACE
                   ? bytes_of(most, p, call->recvcount, call->recvtype)
                   : bytes_of(most, p, call->sendcount, call->sendtype);
    case PL_FN_scatter:
        return rank == call->root ? bytes_of(most, p, call->sendcount, call->sendtype)
                                  : bytes_of(most, p, call->recvcount, call->recvtype);
    case PL_FN_allgather:
    case PL_FN_alltoall:
        return bytes_of(most, p, call->recvcount, call->recvtype);
    case PL_FN_allgatherv:
        return bytes_of(most, 1, sum_of(call->recvcounts, p), call->recvtype);
    case PL_FN_reduce_scatter:
        return operand_bytes(most, 1, sum_of(call->recvcounts, p), call->recvtype);
    case PL_FN_reduce_scatter_block:
        return operand_bytes(most, p, call->recvcount, call->recvtype);
    case PL_FN_gatherv:
    case PL_FN_scatterv:
    case PL_FN_alltoallv:
    case PL_FN_alltoallw:
    case PL_FN_neighbor_allgather:
    case PL_FN_neighbor_allgatherv:
    case PL_FN_neighbor_alltoall:
    case PL_FN_neighbor_alltoallv:
        return PL_LOCAL_VOLUME;
    case PL_FN_reduce_local:
    case PL_FUNCTION_COUNT:
        break;
    }
    return PL_NO_VOLUME;
}
