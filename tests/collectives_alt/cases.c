#include "cases.h"

#include <math.h>
#include <string.h>

/* The pairs have one signature; in mixed cases every rank and side picks its own layout for it. */
static const int pairs[] = {LAYOUT_SHIFTED, LAYOUT_PAIR, LAYOUT_INT, LAYOUT_VECTOR, LAYOUT_SWAPPED};

static int layout_here(int layout, int rank, int side)
{
    return layout == MIXED ? pairs[(rank + 2 * side) % 5] : layout;
}

static int count_here(const struct setting *s, int layout)
{
    return s->layout == MIXED && layout == LAYOUT_INT ? 2 * s->count : s->count;
}

struct pl_call call_for(enum pl_function function, const struct setting *s, int *counts,
                        const struct area side[2])
{
    int p, rank;
    MPI_Comm_size(s->comm, &p);
    MPI_Comm_rank(s->comm, &rank);
    const int send = layout_here(s->layout, rank, 0), receive = layout_here(s->layout, rank, 1);
    const bool root = rank == s->root;
    struct pl_call call = {
        .function = function,
        .sendbuf = side[0].memory + GUARD,
        .recvbuf = side[1].memory + GUARD,
        .sendcount = count_here(s, send),
        .sendtype = layouts[send].type,
        .recvcount = count_here(s, receive),
        .recvtype = layouts[receive].type,
        .comm = s->comm,
    };
    switch (function) {
    case PL_FN_bcast:
        call.root = s->root;
        break;
    case PL_FN_gather:
        call.root = s->root;
        if (!root) {
            call.recvbuf = side[1].memory + 3;
            call.recvcount = -77;
            call.recvtype = MPI_DATATYPE_NULL;
        } else if (s->in_place) {
            call.sendbuf = MPI_IN_PLACE;
            call.sendcount = -78;
            call.sendtype = MPI_DATATYPE_NULL;
        }
        break;
    case PL_FN_scatter:
        call.root = s->root;
        if (!root) {
            call.sendbuf = NULL;
            call.sendcount = 0;
            call.sendtype = MPI_DATATYPE_NULL;
        } else if (s->in_place) {
            call.recvbuf = MPI_IN_PLACE;
            call.recvcount = -79;
            call.recvtype = MPI_DATATYPE_NULL;
        }
        break;
    case PL_FN_allgather:
        if (s->in_place) {
            call.sendbuf = MPI_IN_PLACE;
            call.sendcount = -80;
            call.sendtype = MPI_DATATYPE_NULL;
        }
        break;
    case PL_FN_reduce:
        call.root = s->root;
        if (!root)
            call.recvbuf = NULL;
        else if (s->in_place)
            call.sendbuf = MPI_IN_PLACE;
        break;
    case PL_FN_reduce_scatter:
        for (int i = 0; i < p; i++)
            counts[i] = s->count == 0 || i % 3 == 1 ? 0 : s->count + i % 2;
        call.recvcounts = counts;
        call.recvcount = 0;
        break;
    default:
        break;
    }
    if (s->operation) {
        call.op = s->operation->op;
        call.sendcount = 0;
        call.sendtype = MPI_DATATYPE_NULL;
        if (s->in_place && function != PL_FN_reduce)
            call.sendbuf = MPI_IN_PLACE;
    }
    return call;
}

/* In place, a Reduce_scatter leaves its result at the start of the vector it read; what the rest of
 * that vector holds is not defined. */
void forget_undefined(const struct pl_call *call, struct area *area)
{
    if (call->sendbuf != MPI_IN_PLACE ||
        (call->function != PL_FN_reduce_scatter && call->function != PL_FN_reduce_scatter_block))
        return;
    int p, rank, result = call->recvcount;
    MPI_Aint lb, extent;
    MPI_Comm_size(call->comm, &p);
    MPI_Comm_rank(call->comm, &rank);
    MPI_Type_get_extent(call->recvtype, &lb, &extent);
    long total = (long)p * result;
    if (call->function == PL_FN_reduce_scatter) {
        result = call->recvcounts[rank];
        total = 0;
        for (int i = 0; i < p; i++)
            total += call->recvcounts[i];
    }
    memset(area->memory + GUARD + result * extent, 0, (size_t)((total - result) * extent));
}

bool areas_equal(const struct area *a, const struct area *b, bool exact)
{
    if (exact)
        return memcmp(a->memory, b->memory, a->bytes) == 0;
    const void *left = a->memory, *right = b->memory;
    const double *x = left, *y = right;
    for (size_t i = 0; i < a->bytes / sizeof *x; i++) /* operands are positive: no cancellation */
        if (!(fabs(x[i] - y[i]) <= 1e-13 * fabs(x[i])))
            return false;
    return true;
}
