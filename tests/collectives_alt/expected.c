#include "expected.h"

#include <stdint.h>

static struct area other[2]; /* sides of another rank */
static struct area sums[2];  /* these take turns: MPI_Reduce_local gives its result in an operand */

static struct pl_call call_of_other(enum pl_function function, const struct setting *s, int rank,
                                    struct tables *tables)
{
    for (int side = 0; side < 2; side++) {
        area_fit(&other[side], function, s);
        area_fill(&other[side], s, rank, side);
    }
    return call_for(function, s, rank, tables, other);
}

/* --- blocks that move --- */

struct part {
    const void *buf;
    long first;
    int count;
    MPI_Datatype type;
};

static void copy(struct part from, struct part to)
{
    MPI_Aint lb, step, stride;
    MPI_Type_get_extent(from.type, &lb, &step);
    MPI_Type_get_extent(to.type, &lb, &stride);
    PMPI_Sendrecv((void *)((intptr_t)from.buf + from.first * step), from.count, from.type, 0, 0,
                  (void *)((intptr_t)to.buf + to.first * stride), to.count, to.type, 0, 0,
                  MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static struct part sent_part(const struct pl_call *c, int i)
{
    if (c->sendcounts)
        return (struct part){c->sendbuf, c->sdispls[i], c->sendcounts[i], c->sendtype};
    return (struct part){c->sendbuf, (long)i * c->sendcount, c->sendcount, c->sendtype};
}

static struct part received_part(const struct pl_call *c, int i)
{
    if (c->recvcounts)
        return (struct part){c->recvbuf, c->rdispls[i], c->recvcounts[i], c->recvtype};
    return (struct part){c->recvbuf, (long)i * c->recvcount, c->recvcount, c->recvtype};
}

/* What this rank gets from rank `from`, whose call is `theirs`. */
static void get(const struct pl_call *mine, int rank, const struct pl_call *theirs, int from)
{
    const bool in_place = theirs->sendbuf == MPI_IN_PLACE;
    switch (mine->function) {
    case PL_FN_bcast:
        if (rank != from)
            copy(received_part(theirs, 0), received_part(mine, 0));
        break;
    case PL_FN_gather:
    case PL_FN_gatherv:
        if (!in_place)
            copy(sent_part(theirs, 0), received_part(mine, from));
        break;
    case PL_FN_scatter:
    case PL_FN_scatterv:
        if (mine->recvbuf != MPI_IN_PLACE)
            copy(sent_part(theirs, rank), received_part(mine, 0));
        break;
    case PL_FN_allgather:
    case PL_FN_allgatherv:
        copy(in_place ? received_part(theirs, from) : sent_part(theirs, 0),
             received_part(mine, from));
        break;
    default: /* Alltoall, Alltoallv */
        copy(in_place ? received_part(theirs, rank) : sent_part(theirs, rank),
             received_part(mine, from));
    }
}

static void expect_blocks(enum pl_function function, const struct setting *s,
                          const struct pl_call *mine, int p, int rank)
{
    const bool to_root = function == PL_FN_gather || function == PL_FN_gatherv;
    const bool from_root = has_root(function) && !to_root;
    for (int from = 0; from < p; from++) {
        if ((from_root && from != s->root) || (to_root && rank != s->root))
            continue;
        struct tables tables;
        const struct pl_call theirs = call_of_other(function, s, from, &tables);
        get(mine, rank, &theirs, from);
    }
}

/* --- operands --- */

/* Operands of ranks 0 .. last in this order. */
static void *fold(enum pl_function function, const struct setting *s, int last, int count)
{
    struct tables tables;
    void *sum = NULL;
    for (int rank = 0; rank <= last; rank++) {
        const struct pl_call call = call_of_other(function, s, rank, &tables);
        area_fit(&sums[rank % 2], function, s);
        void *next = layout_buffer(s->layout, sums[rank % 2].memory + GUARD);
        const void *operand = call.sendbuf == MPI_IN_PLACE ? call.recvbuf : call.sendbuf;
        copy((struct part){operand, 0, count, call.recvtype},
             (struct part){next, 0, count, call.recvtype});
        if (rank > 0)
            PMPI_Reduce_local(sum, next, count, call.recvtype, call.op);
        sum = next;
    }
    return sum;
}

static void expect_reduction(enum pl_function function, const struct setting *s,
                             const struct pl_call *call, int p, int rank)
{
    int first = 0, count = call->recvcount, all = count, last = p - 1;
    if (function == PL_FN_reduce && rank != s->root)
        return;
    if (function == PL_FN_scan || function == PL_FN_exscan)
        last = function == PL_FN_scan ? rank : rank - 1;
    if (last < 0)
        return; /* Exscan leaves rank 0 alone */
    if (function == PL_FN_reduce_scatter_block) {
        first = rank * count;
        all = p * count;
    }
    if (function == PL_FN_reduce_scatter) {
        count = call->recvcounts[rank];
        all = 0;
        for (int i = 0; i < p; i++) {
            first += i < rank ? call->recvcounts[i] : 0;
            all += call->recvcounts[i];
        }
    }
    copy((struct part){fold(function, s, last, all), first, count, call->recvtype},
         (struct part){call->recvbuf, 0, count, call->recvtype});
}

void expect(enum pl_function function, const struct setting *s, const struct area start[2],
            struct area *expected)
{
    int p, rank;
    struct tables tables;
    MPI_Comm_size(s->comm, &p);
    MPI_Comm_rank(s->comm, &rank);
    area_fit(expected, function, s);
    area_copy(expected, &start[1]);
    const struct area sides[2] = {start[0], *expected};
    const struct pl_call call = call_for(function, s, rank, &tables, sides);
    if (pl_reduces(function))
        expect_reduction(function, s, &call, p, rank);
    else if (function != PL_FN_barrier)
        expect_blocks(function, s, &call, p, rank);
    forget_undefined(&call);
}

void expected_free(void)
{
    for (int i = 0; i < 2; i++) {
        area_free(&other[i]);
        area_free(&sums[i]);
    }
}
