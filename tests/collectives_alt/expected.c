#include "expected.h"

static struct area other[2]; /* sides of another rank, or a copy of the send side */
static struct area sums[2];  /* these take turns: MPI_Reduce_local gives its result in an operand */

static void copy_elements(const void *from, void *to, int count, MPI_Datatype type)
{
    PMPI_Sendrecv(from, count, type, 0, 0, to, count, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* Operands of ranks 0 .. last in this order; they are a function of setting and rank. */
static void *fold(enum pl_function function, const struct setting *s, int last, int count)
{
    struct tables tables;
    void *sum = NULL;
    for (int rank = 0; rank <= last; rank++) {
        for (int side = 0; side < 2; side++) {
            area_fit(&other[side], function, s);
            area_fill(&other[side], s, rank, side);
        }
        const struct pl_call call = call_for(function, s, rank, &tables, other);
        area_fit(&sums[rank % 2], function, s);
        void *next = sums[rank % 2].memory + GUARD;
        copy_elements(call.sendbuf == MPI_IN_PLACE ? call.recvbuf : call.sendbuf, next, count,
                      call.recvtype);
        if (sum)
            PMPI_Reduce_local(sum, next, count, call.recvtype, call.op);
        sum = next;
    }
    return sum;
}

static void expect_reduction(enum pl_function function, const struct setting *s,
                             const struct pl_call *call)
{
    int p, rank, first = 0, count = call->recvcount, all = count;
    MPI_Aint lb, extent;
    MPI_Comm_size(s->comm, &p);
    MPI_Comm_rank(s->comm, &rank);
    if (function == PL_FN_reduce && rank != s->root)
        return;
    int last = p - 1;
    if (function == PL_FN_scan || function == PL_FN_exscan)
        last = function == PL_FN_scan ? rank : rank - 1;
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
    if (last < 0)
        return; /* Exscan leaves rank 0 alone */
    MPI_Type_get_extent(call->recvtype, &lb, &extent);
    const char *sum = fold(function, s, last, all);
    copy_elements(sum + first * extent, call->recvbuf, count, call->recvtype);
}

bool expect(enum pl_function function, const struct setting *s, const struct area start[2],
            struct area *expected)
{
    int rank;
    struct tables tables;
    MPI_Comm_rank(s->comm, &rank);
    area_fit(expected, function, s);
    area_copy(expected, &start[1]);
    area_fit(&other[0], function, s);
    area_copy(&other[0], &start[0]);
    const struct area sides[2] = {other[0], *expected};
    const struct pl_call call = call_for(function, s, rank, &tables, sides);
    bool good = true;
    if (pl_reduces(function))
        expect_reduction(function, s, &call);
    else
        good = pl_call_pmpi(&call) == MPI_SUCCESS;
    forget_undefined(&call, expected);
    return good;
}

void expected_free(void)
{
    for (int i = 0; i < 2; i++) {
        area_free(&other[i]);
        area_free(&sums[i]);
    }
}
