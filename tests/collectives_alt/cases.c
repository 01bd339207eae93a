#include "cases.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The pairs have one signature; in mixed cases every rank and side picks its own layout for it. */
static const int pairs[] = {LAYOUT_SHIFTED, LAYOUT_PAIR, LAYOUT_INT, LAYOUT_VECTOR, LAYOUT_SWAPPED};

static int layout_here(const struct setting *s, int rank, int side)
{
    const int layout = s->layout;
    if (layout == LAYOUT_SENT && side == 1 && !s->operation)
        return LAYOUT_RECEIVED;
    return layout == MIXED ? pairs[(rank + 2 * side) % 5] : layout;
}

/* Elements of this layout for `count` elements of the setting. */
static int count_here(const struct setting *s, int layout, int count)
{
    return s->layout == MIXED && layout == LAYOUT_INT ? 2 * count : count;
}

/* Uneven, some empty. */
static int count_of(const struct setting *s, int index)
{
    return s->count == 0 || index % 3 == 1 ? 0 : s->count + index / 2 % 2;
}

/* What rank `from` sends to rank `to` in Alltoallv; in place both directions are equal. */
static int count_between(const struct setting *s, int from, int to)
{
    return count_of(s, s->in_place ? from + to : 2 * from + to);
}

/* Blocks backwards, with gaps between them. */
static void place(const int *counts, int *displacements, int p)
{
    int at = 1;
    for (int i = p - 1; i >= 0; i--) {
        displacements[i] = at;
        at += counts[i] + 1 + i % 2;
    }
}

bool has_root(enum pl_function function)
{
    return function == PL_FN_bcast || function == PL_FN_gather || function == PL_FN_gatherv ||
           function == PL_FN_scatter || function == PL_FN_scatterv || function == PL_FN_reduce;
}

bool has_in_place(enum pl_function function)
{
    return function != PL_FN_barrier && function != PL_FN_bcast && !pl_has_neighbors(function);
}

bool has_blocks(enum pl_function function)
{
    return function != PL_FN_barrier && function != PL_FN_bcast && function != PL_FN_reduce &&
           function != PL_FN_allreduce && function != PL_FN_scan && function != PL_FN_exscan;
}

void no_send(struct pl_call *call, const void *sendbuf)
{
    call->sendbuf = sendbuf;
    call->sendcount = -78;
    call->sendcounts = call->sdispls = NULL;
    call->sendtype = MPI_DATATYPE_NULL;
}

void no_receive(struct pl_call *call, void *recvbuf)
{
    call->recvbuf = recvbuf;
    call->recvcount = -77;
    call->recvcounts = call->rdispls = NULL;
    call->recvtype = MPI_DATATYPE_NULL;
}

static void fill_tables(enum pl_function function, const struct setting *s, int rank, int p,
                        int send, int receive, struct tables *t)
{
    const bool pairwise = function == PL_FN_alltoallv;
    for (int i = 0; i < p; i++) {
        const int out = pairwise ? count_between(s, rank, i) : count_of(s, i);
        const int in = pairwise ? count_between(s, i, rank) : count_of(s, i);
        t->sendcounts[i] = count_here(s, send, out);
        t->recvcounts[i] = count_here(s, receive, in);
    }
    place(t->sendcounts, t->sdispls, p);
    place(t->recvcounts, t->rdispls, p);
}

struct pl_call call_for(enum pl_function function, const struct setting *s, int rank,
                        struct tables *t, const struct area side[2])
{
    int p;
    MPI_Comm_size(s->comm, &p);
    const int send = layout_here(s, rank, 0), receive = layout_here(s, rank, 1);
    const bool root = rank == s->root;
    struct pl_call call = {.function = function, .comm = s->comm};
    if (function == PL_FN_barrier)
        return call;
    call.recvbuf = layout_buffer(receive, side[1].memory + GUARD);
    call.sendbuf = layout_buffer(send, side[0].memory + GUARD);
    call.sendcount = count_here(s, send, s->count);
    call.sendtype = layouts[send].type;
    call.recvcount = count_here(s, receive, s->count);
    call.recvtype = layouts[receive].type;
    fill_tables(function, s, rank, p, send, receive, t);
    if (has_root(function))
        call.root = s->root;

    switch (function) {
    case PL_FN_gatherv:
    case PL_FN_allgatherv:
        call.sendcount = count_here(s, send, count_of(s, rank));
        call.recvcounts = t->recvcounts;
        call.rdispls = t->rdispls;
        call.recvcount = 0;
        break;
    case PL_FN_scatterv:
        call.recvcount = count_here(s, receive, count_of(s, rank));
        call.sendcounts = t->sendcounts;
        call.sdispls = t->sdispls;
        call.sendcount = 0;
        break;
    case PL_FN_alltoallv:
        call.sendcounts = t->sendcounts;
        call.sdispls = t->sdispls;
        call.recvcounts = t->recvcounts;
        call.rdispls = t->rdispls;
        call.sendcount = call.recvcount = 0;
        break;
    case PL_FN_reduce_scatter:
        call.recvcounts = t->recvcounts;
        call.recvcount = 0;
        break;
    case PL_FN_bcast:
        call.sendbuf = NULL;
        call.sendcount = 0;
        break;
    default:
        break;
    }
    switch (function) {
    case PL_FN_gather:
    case PL_FN_gatherv:
        if (!root)
            no_receive(&call, side[1].memory + 3);
        else if (s->in_place)
            no_send(&call, MPI_IN_PLACE);
        break;
    case PL_FN_scatter:
    case PL_FN_scatterv:
        if (!root)
            no_send(&call, NULL);
        else if (s->in_place)
            no_receive(&call, MPI_IN_PLACE);
        break;
    case PL_FN_allgather:
    case PL_FN_allgatherv:
    case PL_FN_alltoall:
    case PL_FN_alltoallv:
        if (s->in_place)
            no_send(&call, MPI_IN_PLACE);
        break;
    case PL_FN_reduce:
        if (!root)
            call.recvbuf = NULL;
        else if (s->in_place)
            call.sendbuf = MPI_IN_PLACE;
        break;
    default:
        if (s->in_place)
            call.sendbuf = MPI_IN_PLACE;
    }
    if (s->operation) {
        call.op = s->operation->op;
        call.sendcount = 0;
        call.sendtype = MPI_DATATYPE_NULL;
    }
    return call;
}

void area_fit(struct area *area, enum pl_function function, const struct setting *s)
{
    int p;
    MPI_Aint lb, extent = 20; /* the widest */
    MPI_Comm_size(s->comm, &p);
    if (s->layout != MIXED)
        MPI_Type_get_extent(layouts[s->layout].type, &lb, &extent);
    const size_t blocks = has_blocks(function) ? (size_t)p : 1;
    const size_t elements = blocks * ((size_t)s->count + 3) + 2;
    area->bytes = 2 * GUARD + (elements * (size_t)extent + 7) / 8 * 8;
    if (area->bytes <= area->room)
        return;
    free(area->memory);
    area->memory = malloc(area->bytes);
    area->room = area->bytes;
    if (!area->memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

void area_fill(struct area *area, const struct setting *s, int rank, int side)
{
    const enum base base = s->layout == MIXED ? BASE_INT : layouts[s->layout].base;
    fill(area->memory, area->bytes, base,
         (s->serial * RANKS_MAX + (unsigned)rank) * 2 + (unsigned)side);
}

void area_copy(struct area *to, const struct area *from)
{
    memcpy(to->memory, from->memory, from->bytes);
}

void area_free(struct area *area)
{
    free(area->memory);
    *area = (struct area){0};
}

/* In place, a Reduce_scatter leaves its result at the start of the vector it read; what the rest of
 * that vector holds is not defined. */
void forget_undefined(const struct pl_call *call)
{
    if (call->sendbuf != MPI_IN_PLACE ||
        (call->function != PL_FN_reduce_scatter && call->function != PL_FN_reduce_scatter_block))
        return;
    int p, rank, result = call->recvcount;
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Comm_size(call->comm, &p);
    MPI_Comm_rank(call->comm, &rank);
    MPI_Type_get_extent(call->recvtype, &lb, &extent);
    MPI_Type_get_true_extent(call->recvtype, &true_lb, &true_extent);
    long total = (long)p * result;
    if (call->function == PL_FN_reduce_scatter) {
        result = call->recvcounts[rank];
        total = 0;
        for (int i = 0; i < p; i++)
            total += call->recvcounts[i];
    }
    if (result < total)
        memset((void *)((intptr_t)call->recvbuf + result * extent + true_lb), 0,
               (size_t)((total - result - 1) * extent + true_extent));
}

bool areas_equal(const struct area *a, const struct area *b, bool exact, int terms)
{
    if (exact)
        return memcmp(a->memory, b->memory, a->bytes) == 0;
    const void *left = a->memory, *right = b->memory;
    const double *x = left, *y = right;
    const double bound = terms * DBL_EPSILON;
    for (size_t i = 0; i < a->bytes / sizeof *x; i++) /* operands are positive: no cancellation */
        if (!(fabs(x[i] - y[i]) <= bound * fabs(x[i])))
            return false;
    return true;
}
