/* From bytes to counts: the table of docs/plan-and-records.md. */
#include "check.h"

#include "measure/shape.h"

#include <limits.h>

static struct pl_shape of(enum pl_function function, long long bytes, int rank)
{
    return pl_shape_of(function, bytes, 4, 3, rank, 1); /* four-byte type, 3 ranks, root 1 */
}

static int is(struct pl_shape shape, long long total, long long send, long long recv)
{
    return shape.total == total && shape.send == send && shape.recv == recv;
}

static void check_split(long long total, int nprocs)
{
    long long sum = 0, largest = 0, smallest = LLONG_MAX;
    int in_order = 1, never_more_later = 1;
    for (int rank = 0; rank < nprocs; rank++) {
        long long count = pl_split_count(total, nprocs, rank);
        in_order &= pl_split_start(total, nprocs, rank) == sum;
        never_more_later &= rank == 0 || count <= pl_split_count(total, nprocs, rank - 1);
        sum += count;
        largest = count > largest ? count : largest;
        smallest = count < smallest ? count : smallest;
    }
    CHECK(sum == total && in_order && never_more_later && largest - smallest <= 1);
}

int main(void)
{
    CHECK(is(of(PL_FN_barrier, 100, 0), 0, 0, 0));
    CHECK(!of(PL_FN_barrier, 100, 0).significant);

    /* A vector: rounded up to whole elements. */
    CHECK(is(of(PL_FN_allreduce, 0, 0), 0, 0, 0));
    CHECK(is(of(PL_FN_allreduce, 1, 0), 1, 1, 1));
    CHECK(is(of(PL_FN_allreduce, 100, 0), 25, 25, 25));
    CHECK(is(of(PL_FN_bcast, 101, 0), 26, 0, 26));
    CHECK(of(PL_FN_bcast, 101, 0).inout && of(PL_FN_reduce_local, 4, 0).inout);
    CHECK(!of(PL_FN_reduce, 8, 0).significant && of(PL_FN_reduce, 8, 1).significant);
    CHECK(of(PL_FN_exscan, 8, 0).undefined && !of(PL_FN_exscan, 8, 0).significant);
    CHECK(of(PL_FN_exscan, 8, 1).significant && of(PL_FN_scan, 8, 0).significant);

    /* Equal blocks: padded to p of them. 100 bytes are 25 elements, 9 for each of 3 ranks. */
    CHECK(is(of(PL_FN_gather, 100, 0), 27, 9, 27));
    CHECK(is(of(PL_FN_scatter, 100, 2), 27, 27, 9));
    CHECK(is(of(PL_FN_allgather, 1, 0), 3, 1, 3));
    CHECK(is(of(PL_FN_alltoall, 100, 0), 27, 27, 27));
    CHECK(is(of(PL_FN_reduce_scatter_block, 100, 0), 27, 27, 9));
    CHECK(of(PL_FN_gather, 100, 1).significant && !of(PL_FN_gather, 100, 0).significant);

    /* Uneven blocks: not padded, the first ranks take one more. */
    CHECK(is(of(PL_FN_gatherv, 100, 0), 25, 9, 25));
    CHECK(is(of(PL_FN_gatherv, 100, 2), 25, 8, 25));
    CHECK(is(of(PL_FN_scatterv, 4, 0), 1, 1, 1));
    CHECK(is(of(PL_FN_scatterv, 4, 1), 1, 1, 0));
    CHECK(is(of(PL_FN_allgatherv, 100, 1), 25, 8, 25));
    CHECK(is(of(PL_FN_reduce_scatter, 100, 0), 25, 25, 9));
    CHECK(is(of(PL_FN_alltoallv, 100, 0), 25, 25, 27));
    CHECK(is(of(PL_FN_alltoallv, 100, 2), 25, 25, 24));

    for (int nprocs = 1; nprocs <= 5; nprocs++)
        for (long long total = 0; total <= 11; total++)
            check_split(total, nprocs);

    CHECK(pl_shape_fits(PL_FN_bcast, INT_MAX, 1, 3));
    CHECK(!pl_shape_fits(PL_FN_bcast, 1LL + INT_MAX, 1, 3));
    CHECK(pl_shape_fits(PL_FN_bcast, 4LL * INT_MAX, 4, 3));
    CHECK(!pl_shape_fits(PL_FN_gather, INT_MAX, 1, 3)); /* padding goes past INT_MAX */
    CHECK(!pl_shape_fits(PL_FN_bcast, LLONG_MAX, 8, 3));
    CHECK(pl_function_reduces(PL_FN_exscan) && !pl_function_reduces(PL_FN_bcast));
    CHECK(pl_function_has_root(PL_FN_scatterv) && !pl_function_has_root(PL_FN_allreduce));
    return check_done();
}
