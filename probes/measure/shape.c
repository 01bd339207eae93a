/* One line per function: how n is divided, how much a rank sends and receives, where the result is.
 */
#include "measure/shape.h"

#include <limits.h>
#include <string.h>

enum volume { NOTHING, VECTOR, EQUAL_BLOCKS, UNEVEN_BLOCKS };
enum extent { NO_BUFFER, MINE, TOTAL, MINE_FROM_EACH };
enum place { NOWHERE, AT_ROOT, EVERYWHERE, ALL_BUT_FIRST };

struct traits {
    enum volume volume;
    enum extent send, recv;
    enum place result;
    bool reduces, has_root, inout;
};

static const struct traits table[PL_FUNCTION_COUNT + 1] = {
    /* n divided as, send, recv, result at, reduces, has_root, inout */
    [PL_FN_barrier] = {NOTHING, NO_BUFFER, NO_BUFFER, NOWHERE, false, false, false},
    [PL_FN_bcast] = {VECTOR, NO_BUFFER, TOTAL, EVERYWHERE, false, true, true},
    [PL_FN_gather] = {EQUAL_BLOCKS, MINE, TOTAL, AT_ROOT, false, true, false},
    [PL_FN_gatherv] = {UNEVEN_BLOCKS, MINE, TOTAL, AT_ROOT, false, true, false},
    [PL_FN_scatter] = {EQUAL_BLOCKS, TOTAL, MINE, EVERYWHERE, false, true, false},
    [PL_FN_scatterv] = {UNEVEN_BLOCKS, TOTAL, MINE, EVERYWHERE, false, true, false},
    [PL_FN_allgather] = {EQUAL_BLOCKS, MINE, TOTAL, EVERYWHERE, false, false, false},
    [PL_FN_allgatherv] = {UNEVEN_BLOCKS, MINE, TOTAL, EVERYWHERE, false, false, false},
    [PL_FN_alltoall] = {EQUAL_BLOCKS, TOTAL, TOTAL, EVERYWHERE, false, false, false},
    [PL_FN_alltoallv] = {UNEVEN_BLOCKS, TOTAL, MINE_FROM_EACH, EVERYWHERE, false, false, false},
    [PL_FN_reduce] = {VECTOR, TOTAL, TOTAL, AT_ROOT, true, true, false},
    [PL_FN_allreduce] = {VECTOR, TOTAL, TOTAL, EVERYWHERE, true, false, false},
    [PL_FN_reduce_scatter] = {UNEVEN_BLOCKS, TOTAL, MINE, EVERYWHERE, true, false, false},
    [PL_FN_reduce_scatter_block] = {EQUAL_BLOCKS, TOTAL, MINE, EVERYWHERE, true, false, false},
    [PL_FN_scan] = {VECTOR, TOTAL, TOTAL, EVERYWHERE, true, false, false},
    [PL_FN_exscan] = {VECTOR, TOTAL, TOTAL, ALL_BUT_FIRST, true, false, false},
    [PL_FN_reduce_local] = {VECTOR, TOTAL, TOTAL, EVERYWHERE, true, false, true},
    [PL_FUNCTION_COUNT] = {NOTHING, NO_BUFFER, NO_BUFFER, NOWHERE, false, false,
                           false}, /* pattern/ */
};

const char *const pl_counts_names[PL_COUNTS] = {
    [PL_COUNTS_EQUAL] = "equal",
    [PL_COUNTS_LINEAR] = "linear",
    [PL_COUNTS_LAST] = "last",
    [PL_COUNTS_HALF] = "half",
};

/* As evenly as `parts` allows: the first ones have one element more. */
static long long even_start(long long total, long long parts, long long part)
{
    long long rest = total % parts;
    return total / parts * part + (part < rest ? part : rest);
}

/* The weights of the first `count` ranks, which are 1, 2, 3 and so on. */
static long long weights(long long count)
{
    return count * (count + 1) / 2;
}

long long pl_part_start(long long total, struct pl_shares parts, int rank)
{
    const long long all = weights(parts.nprocs), before = weights(rank);
    switch (parts.counts) {
    case PL_COUNTS_LINEAR: /* total * before / all, without overflow */
        return total / all * before + total % all * before / all;
    case PL_COUNTS_LAST:
        return rank == parts.nprocs ? total : 0;
    case PL_COUNTS_HALF: /* every other rank is empty, rank 0 is not */
        return even_start(total, (parts.nprocs + 1) / 2, (rank + 1) / 2);
    default:
        return even_start(total, parts.nprocs, rank);
    }
}

long long pl_part_count(long long total, struct pl_shares parts, int rank)
{
    return pl_part_start(total, parts, rank + 1) - pl_part_start(total, parts, rank);
}

int pl_largest_part(struct pl_shares parts)
{
    return parts.counts == PL_COUNTS_EQUAL || parts.counts == PL_COUNTS_HALF ? 0 : parts.nprocs - 1;
}

static long long total_elements(enum volume volume, long long bytes, size_t type_size, int nprocs)
{
    if (volume == NOTHING)
        return 0;
    long long elements = bytes / (long long)type_size + (bytes % (long long)type_size != 0);
    if (volume != EQUAL_BLOCKS)
        return elements;
    return (elements / nprocs + (elements % nprocs != 0)) * nprocs;
}

static long long extent_elements(enum extent extent, long long total, long long mine, int nprocs)
{
    switch (extent) {
    case NO_BUFFER:
        return 0;
    case MINE:
        return mine;
    case TOTAL:
        return total;
    case MINE_FROM_EACH:
        return mine * nprocs;
    }
    return 0;
}

struct pl_shape pl_shape_of(enum pl_function function, long long bytes, size_t type_size,
                            struct pl_shares parts, int rank, int root)
{
    const struct traits *traits = &table[function];
    const int nprocs = parts.nprocs;
    bool divided = traits->volume == EQUAL_BLOCKS || traits->volume == UNEVEN_BLOCKS;
    struct pl_shape shape = {.parts = parts, .inout = traits->inout};

    if (!pl_function_has_counts(function))
        shape.parts.counts = PL_COUNTS_EQUAL;
    shape.total = total_elements(traits->volume, bytes, type_size, nprocs);
    shape.mine = divided ? pl_part_count(shape.total, shape.parts, rank) : shape.total;
    shape.send = extent_elements(traits->send, shape.total, shape.mine, nprocs);
    shape.recv = extent_elements(traits->recv, shape.total, shape.mine, nprocs);
    shape.significant = traits->result == EVERYWHERE ||
                        (traits->result == AT_ROOT && rank == root) ||
                        (traits->result == ALL_BUT_FIRST && rank > 0);
    shape.undefined = traits->result == ALL_BUT_FIRST && rank == 0;
    return shape;
}

bool pl_function_reduces(enum pl_function function)
{
    return table[function].reduces;
}

bool pl_function_has_root(enum pl_function function)
{
    return table[function].has_root;
}

bool pl_function_has_counts(enum pl_function function)
{
    return table[function].volume == UNEVEN_BLOCKS;
}

bool pl_shape_fits(enum pl_function function, long long bytes, size_t type_size,
                   struct pl_shares parts)
{
    if (bytes / (long long)type_size > INT_MAX)
        return false;
    /* Alltoallv's receive buffer is the largest of all. */
    struct pl_shape shape =
        pl_shape_of(function, bytes, type_size, parts, pl_largest_part(parts), 0);
    return shape.total <= INT_MAX && shape.recv <= INT_MAX;
}
