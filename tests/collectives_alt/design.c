#include "design.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES = RANKS_MAX }; /* of a factor, at most */

static bool used[FACTORS][VALUES][FACTORS][VALUES]; /* pairs that a chosen row has */

static int operations_of(enum pl_function function, int layout)
{
    int count = 1;
    if (pl_reduces(function))
        operations_for(layout, &count);
    return count;
}

static bool is_case(enum pl_function function, const struct group *groups, const int row[FACTORS])
{
    if (pl_reduces(function) && row[LAYOUT] == MIXED)
        return false;
    return row[ROOT] < groups[row[COMM]].most &&
           row[OPERATION] < operations_of(function, row[LAYOUT]);
}

static int new_pairs(const int row[FACTORS])
{
    int found = 0;
    for (int a = 0; a < FACTORS; a++)
        for (int b = a + 1; b < FACTORS; b++)
            found += !used[a][row[a]][b][row[b]];
    return found;
}

static void choose(struct design *design, const int row[FACTORS])
{
    memcpy(design->rows[design->size++], row, sizeof design->rows[0]);
    for (int a = 0; a < FACTORS; a++)
        for (int b = a + 1; b < FACTORS; b++)
            used[a][row[a]][b][row[b]] = true;
}

static void row_of(long number, const int values[FACTORS], int row[FACTORS])
{
    for (int f = 0; f < FACTORS; f++, number /= values[f - 1])
        row[f] = (int)(number % values[f]);
}

/* About the golden section of `all`, and without a common divisor: multiples of it meet every
 * number below `all`, neighbours far apart. */
static long stride_of(long all)
{
    for (long stride = all * 618 / 1000;; stride++) {
        long a = all, b = stride;
        while (b > 0) {
            const long rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return stride;
    }
}

/* Rows that bring many new pairs are taken first, in an order that jumps about. */
struct design design_make(enum pl_function function, const struct group *groups, int group_count,
                          bool everything)
{
    const bool data = function != PL_FN_barrier;
    int most = 1;
    for (int i = 0; i < group_count; i++)
        most = groups[i].most > most ? groups[i].most : most;
    const int values[FACTORS] = {[COMM] = group_count,
                                 [COUNT] = data ? COUNTS : 1,
                                 [LAYOUT] = data ? LAYOUTS + 1 : 1,
                                 [ROOT] = has_root(function) || !data ? most : 1,
                                 [OPERATION] = pl_reduces(function) ? 3 : 1,
                                 [IN_PLACE] = has_in_place(function) ? 2 : 1};
    long all = 1;
    for (int f = 0; f < FACTORS; f++)
        all *= values[f];
    struct design design = {malloc((size_t)all * sizeof *design.rows), 0};
    memset(used, 0, sizeof used);
    const long stride = stride_of(all);
    const int pairs = FACTORS * (FACTORS - 1) / 2;
    for (int least = everything ? 0 : pairs; design.rows && least >= !everything; least--) {
        for (long i = 0; i < all; i++) {
            int row[FACTORS];
            row_of(i * stride % all, values, row);
            if (is_case(function, groups, row) && new_pairs(row) >= least)
                choose(&design, row);
        }
    }
    return design;
}

void design_free(struct design *design)
{
    free(design->rows);
    *design = (struct design){0};
}

struct setting design_setting(enum pl_function function, const struct group *groups,
                              const int row[FACTORS])
{
    const struct group *group = &groups[row[COMM]];
    int p, operations;
    MPI_Comm_size(group->comm, &p);
    const int counts[COUNTS] = {0, 1, p - 1, p + 1, 37, has_blocks(function) ? BIG / p : BIG};
    return (struct setting){
        .comm = group->comm,
        .comm_name = group->name,
        .count = counts[row[COUNT]],
        .layout = row[LAYOUT],
        .root = row[ROOT] % p,
        .operation =
            pl_reduces(function) ? &operations_for(row[LAYOUT], &operations)[row[OPERATION]] : NULL,
        .in_place = row[IN_PLACE],
    };
}
