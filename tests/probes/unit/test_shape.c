/* From bytes to counts: the table of docs/plan-and-records.md. */
#include "check.h"

#include "measure/shape.h"

#include <limits.h>

static struct pl_shape of(enum pl_function function, long long bytes, int rank)
{
    return pl_shape_of(function, bytes, 4, (struct pl_shares){.nprocs = 3}, rank,
                       1); /* four-byte type, 3 ranks, root 1 */
}

static int is(struct pl_shape shape, long long total, long long send, long long recv)
{
    return shape.total == total && shape.send == send && shape.recv == recv;
}

static void check_split(long long total, int nprocs)
{
    const struct pl_shares parts = {.nprocs = nprocs};
    long long sum = 0, largest = 0, smallest = LLONG_MAX;
    int in_order = 1, never_more_later = 1;
    for (int rank = 0; rank < nprocs; rank++) {
        long long count = pl_part_count(total, parts, rank);
        in_order &= pl_part_start(total, parts, rank) == sum;
        never_more_later &= rank == 0 || count <= pl_part_count(total, parts, rank - 1);
        sum += count;
        largest = count > largest ? count : largest;
        smallest = count < smallest ? count : smallest;
    }
    CHECK(sum == total && in_order && never_more_later && largest - smallest <= 1);
}

/* The parts of 3 or 4 ranks are these. */
static int parts_are(enum pl_counts counts, long long total, int nprocs, const long long *wanted)
{
    const struct pl_shares parts = {nprocs, counts};
    long long sum = 0;
    int good = 1;
    for (int rank = 0; rank < nprocs; rank++) {
        good &= pl_part_count(total, parts, rank) == wanted[rank];
        good &= pl_part_start(total, parts, rank) == sum;
        good &= wanted[rank] <= wanted[pl_largest_part(parts)];
        sum += wanted[rank];
    }
    return good && sum == total;
}
#define PARTS_ARE(counts, total, ...)                                                              \
    parts_are(counts, total, sizeof((long long[]){__VA_ARGS__}) / sizeof(long long),               \
              (long long[]){__VA_ARGS__})

static void check_counts(void)
{
    CHECK(PARTS_ARE(PL_COUNTS_EQUAL, 11, 3, 3, 3, 2));
    CHECK(PARTS_ARE(PL_COUNTS_LINEAR, 20, 2, 4, 6, 8));
    CHECK(PARTS_ARE(PL_COUNTS_LINEAR, 3, 1, 2));
    CHECK(PARTS_ARE(PL_COUNTS_LINEAR, 1, 0, 1));
    CHECK(PARTS_ARE(PL_COUNTS_LAST, 11, 0, 0, 0, 11));
    CHECK(PARTS_ARE(PL_COUNTS_LAST, 11, 11));
    CHECK(PARTS_ARE(PL_COUNTS_HALF, 11, 6, 0, 5, 0));
    CHECK(PARTS_ARE(PL_COUNTS_HALF, 11, 6, 0, 5));
    CHECK(PARTS_ARE(PL_COUNTS_HALF, 11, 11, 0));
    CHECK(PARTS_ARE(PL_COUNTS_HALF, 0, 0, 0, 0));

    /* The volume stays as it is; a large one does not overflow. */
    struct pl_shares last = {3, PL_COUNTS_LAST}, linear = {60000, PL_COUNTS_LINEAR};
    CHECK(is(pl_shape_of(PL_FN_allgatherv, 100, 4, last, 2, 0), 25, 25, 25));
    CHECK(is(pl_shape_of(PL_FN_reduce_scatter, 100, 4, last, 0, 0), 25, 25, 0));
    CHECK(is(pl_shape_of(PL_FN_alltoallv, 100, 4, last, 2, 0), 25, 25, 75));
    CHECK(is(pl_shape_of(PL_FN_allgather, 100, 4, last, 0, 0), 27, 9, 27)); /* has no counts */
    CHECK(pl_part_start(INT_MAX, linear, 60000) == INT_MAX);
    CHECK(pl_shape_fits(PL_FN_alltoallv, INT_MAX / 3, 1, last));
    CHECK(!pl_shape_fits(PL_FN_alltoallv, INT_MAX / 2, 1, last));
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

    const struct pl_shares three = {.nprocs = 3};
    check_counts();
    CHECK(pl_shape_fits(PL_FN_bcast, INT_MAX, 1, three));
    CHECK(!pl_shape_fits(PL_FN_bcast, 1LL + INT_MAX, 1, three));
    CHECK(pl_shape_fits(PL_FN_bcast, 4LL * INT_MAX, 4, three));
    CHECK(!pl_shape_fits(PL_FN_gather, INT_MAX, 1, three)); /* padding goes past INT_MAX */
    CHECK(!pl_shape_fits(PL_FN_bcast, LLONG_MAX, 8, three));
    CHECK(pl_function_reduces(PL_FN_exscan) && !pl_function_reduces(PL_FN_bcast));
    CHECK(pl_function_has_root(PL_FN_scatterv) && !pl_function_has_root(PL_FN_allreduce));
    return check_done();
}
