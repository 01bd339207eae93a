/* Random data show every contribution; comparison allows what rounding may do, and no more. */
#include "check.h"

#include "measure/data.h"
#include "measure/types.h"
#include "names.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { COUNT = 2000 };

/* Share of results, reduced over p ranks bit by bit, that differ when the last rank is left out. */
static double visible_bits(const char *op_name, int nprocs)
{
    static uint64_t mine[COUNT], all[COUNT], without[COUNT];
    int type = pl_names_find(PL_LIST_TYPES, "MPI_UINT64_T"),
        op = pl_names_find(PL_LIST_OPS, op_name), visible = 0;
    int is_or = strcmp(op_name, "MPI_BOR") == 0;
    memset(all, is_or ? 0 : 0xFF, sizeof all);
    for (int rank = 0; rank < nprocs; rank++) {
        pl_data_fill(mine, COUNT, type, op, nprocs, pl_random_stream(1, (uint64_t)rank, 0));
        memcpy(without, all, sizeof all);
        for (int i = 0; i < COUNT; i++)
            all[i] = is_or ? all[i] | mine[i] : all[i] & mine[i];
    }
    for (int i = 0; i < COUNT; i++)
        visible += all[i] != without[i];
    return visible / (double)COUNT;
}

static double share_of_true(const char *op_name, int nprocs)
{
    static unsigned char values[COUNT];
    int truths = 0;
    pl_data_fill(values, COUNT, pl_names_find(PL_LIST_TYPES, "MPI_UINT8_T"),
                 pl_names_find(PL_LIST_OPS, op_name), nprocs, pl_random_stream(5, 0, 0));
    for (int i = 0; i < COUNT; i++)
        truths += values[i] != 0;
    return truths / (double)COUNT;
}

static void check_floats(void)
{
    static float values[COUNT], sums[COUNT], backwards[COUNT], without[COUNT];
    int type = pl_names_find(PL_LIST_TYPES, "MPI_FLOAT"),
        sum = pl_names_find(PL_LIST_OPS, "MPI_SUM");
    int product = pl_names_find(PL_LIST_OPS, "MPI_PROD"), in_range = 1, near_one = 1;
    enum { RANKS = 64 };

    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < RANKS; i++) {
            int rank = pass ? RANKS - 1 - i : i;
            float *into = pass ? backwards : sums;
            pl_data_fill(values, COUNT, type, sum, RANKS, pl_random_stream(9, (uint64_t)rank, 0));
            for (int k = 0; k < COUNT; k++) {
                in_range &= values[k] >= 1 && values[k] <= 2;
                into[k] += values[k];
                if (!pass && i < RANKS - 1)
                    without[k] += values[k];
            }
        }
    CHECK(in_range);
    CHECK(memcmp(sums, backwards, sizeof sums) != 0); /* the order of operands shows … */
    CHECK(pl_data_compare(backwards, sums, COUNT, type, sum, RANKS) ==
          COUNT); /* … and is allowed */
    CHECK(pl_data_compare(without, sums, COUNT, type, sum, RANKS) == 0);
    CHECK(pl_data_compare(backwards, sums, COUNT, type, -1, RANKS) < COUNT); /* data only moved */
    CHECK(pl_data_compare(backwards, sums, COUNT, type, pl_names_find(PL_LIST_OPS, "MPI_MAX"),
                          RANKS) < COUNT);
    backwards[7] = NAN;
    CHECK(pl_data_compare(backwards, sums, COUNT, type, sum, RANKS) == 7);

    pl_data_fill(values, COUNT, type, product, RANKS, pl_random_stream(9, 0, 0));
    for (int k = 0; k < COUNT; k++)
        near_one &= fabsf(logf(values[k])) < 0.0157f && fabsf(logf(values[k])) > 0.0077f;
    CHECK(near_one);
}

static void check_bound(void)
{
    int type = pl_names_find(PL_LIST_TYPES, "MPI_DOUBLE"),
        sum = pl_names_find(PL_LIST_OPS, "MPI_SUM");
    double wanted = 1.0, at_bound = 1.0 + 2 * DBL_EPSILON, beyond = 1.0 + 4 * DBL_EPSILON;
    CHECK(pl_data_compare(&at_bound, &wanted, 1, type, sum, 2) == 1);
    CHECK(pl_data_compare(&beyond, &wanted, 1, type, sum, 2) == 0);
    CHECK(pl_data_compare(&beyond, &wanted, 1, type, sum, 8) == 1); /* more operands, more room */
    CHECK(pl_data_compare(NULL, NULL, 0, type, sum, 2) == 0);       /* nothing differs */
}

int main(void)
{
    static unsigned char a[COUNT], b[COUNT];
    for (int type = 0; type < pl_type_count; type++) /* every operation on every type it has */
        for (int op = -1; op < pl_op_count; op++) {
            if (op >= 0 && !pl_op_defined(op, type))
                continue;
            size_t elements = COUNT / pl_types[type].size - 1;
            memset(a, 0x5A, COUNT);
            memset(b, 0x5A, COUNT);
            pl_data_fill(a, elements, type, op, 4, pl_random_stream(3, 0, 0));
            pl_data_fill(b, elements, type, op, 4, pl_random_stream(3, 0, 0));
            int inside = a[COUNT - 1] == 0x5A && a[elements * pl_types[type].size] == 0x5A;
            int same = memcmp(a, b, COUNT) == 0;
            pl_data_fill(b, elements, type, op, 4, pl_random_stream(3, 1, 0));
            CHECK(inside && same && memcmp(a, b, COUNT) != 0);
            CHECK(pl_data_compare(a, b, elements, type, op, 4) < elements);
            CHECK(pl_data_compare(a, a, elements, type, op, 4) == elements);
        }
    CHECK(!pl_op_defined(pl_names_find(PL_LIST_OPS, "MPI_SUM"),
                         pl_names_find(PL_LIST_TYPES, "MPI_BYTE")));
    CHECK(!pl_op_defined(pl_names_find(PL_LIST_OPS, "MPI_BOR"),
                         pl_names_find(PL_LIST_TYPES, "MPI_DOUBLE")));

    for (int nprocs = 2; nprocs <= 512; nprocs *= 4) { /* to expect: 64 bits / (e p), at most 1 */
        double least = nprocs <= 8 ? 0.9 : 12.0 / nprocs;
        CHECK(visible_bits("MPI_BOR", nprocs) > least);
        CHECK(visible_bits("MPI_BAND", nprocs) > least);
    }
    CHECK(fabs(share_of_true("MPI_LAND", 16) - 15.0 / 16) < 0.03);
    CHECK(fabs(share_of_true("MPI_LOR", 16) - 1.0 / 16) < 0.03);
    CHECK(fabs(share_of_true("MPI_LXOR", 16) - 0.5) < 0.05);
    check_floats();
    check_bound();
    return check_done();
}
