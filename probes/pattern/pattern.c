/* The table of operations, and what all patterns share. */
#include "pattern/pattern.h"

#include "measure/arguments.h"
#include "measure/data.h"
#include "measure/forms.h"
#include "measure/types.h"

#include <limits.h>
#include <string.h>

#define PL_OPERATION(name) extern const struct pl_operation pl_operation_##name;
#include "pattern/operations.def"
#undef PL_OPERATION

const struct pl_operation *const pl_operations[] = {
#define PL_OPERATION(name) &pl_operation_##name,
#include "pattern/operations.def"
#undef PL_OPERATION
};
const int pl_operation_count = sizeof pl_operations / sizeof *pl_operations;

const struct pl_pattern *const pl_patterns[] = {
    &pl_pattern_point_to_point, &pl_pattern_exchange,      &pl_pattern_vector, &pl_pattern_struct,
    &pl_pattern_master_worker,  &pl_pattern_neighbourhood, &pl_pattern_simple};
const int pl_pattern_count = sizeof pl_patterns / sizeof *pl_patterns;

const struct pl_operation *pl_operation_of(const struct pl_pattern *pattern, const char *name)
{
    for (int i = 0; i < pl_operation_count; i++)
        if (pl_operations[i]->pattern == pattern &&
            (strcmp(name, "default") == 0 || strcmp(pl_operations[i]->name, name) == 0))
            return pl_operations[i];
    return NULL;
}

const char *pl_case_function(const struct pl_case *c)
{
    if (c->form)
        return c->form->name;
    return c->pattern ? c->pattern->name : pl_function_name(c->function);
}

bool pl_case_has_root(const struct pl_case *c)
{
    return c->pattern ? c->pattern->has_root : pl_function_has_root(c->function);
}

static bool is_of_neighbours(enum pl_landing landing)
{
    return landing == PL_LANDS_SAME_BLOCKS || landing == PL_LANDS_OWN_BLOCKS;
}

struct pl_shape pl_case_shape(const struct pl_case *c, int nprocs, int rank)
{
    const size_t width = pl_types[c->type].size;
    if (!c->pattern)
        return pl_shape_of(c->function, c->bytes, width, (struct pl_shares){nprocs, c->counts},
                           rank, c->root);

    const enum pl_landing landing = c->operation ? c->operation->landing : PL_LANDS_NOTHING;
    if (landing == PL_LANDS_NOTHING)
        return (struct pl_shape){0};
    const long long size = (long long)width;
    const long long count = c->bytes / size + (c->bytes % size != 0);
    if (is_of_neighbours(landing))
        return (struct pl_shape){.total = count,
                                 .mine = count,
                                 .send =
                                     landing == PL_LANDS_OWN_BLOCKS ? PL_NEIGHBOURS * count : count,
                                 .recv = PL_NEIGHBOURS * count,
                                 .significant = true};
    const bool is_root = rank == c->root, slots = landing == PL_LANDS_SLOTS;
    const bool takes_part = slots || is_root || rank == pl_partner(c->root, nprocs);
    const bool sends = is_root || (landing == PL_LANDS_SWAPPED && takes_part);
    return (struct pl_shape){.total = count,
                             .mine = count,
                             .send = sends ? count : 0,
                             .recv = !takes_part        ? 0
                                     : slots && is_root ? count * (nprocs - 1)
                                                        : count,
                             .significant = takes_part};
}

bool pl_pattern_fits(const struct pl_case *c, int nprocs)
{
    if (c->empty || c->operation->landing == PL_LANDS_NOTHING)
        return true;
    long long each = c->operation->landing == PL_LANDS_SLOTS && nprocs > 1 ? nprocs - 1 : 1;
    if (is_of_neighbours(c->operation->landing))
        each = PL_NEIGHBOURS;
    return c->bytes <= INT_MAX &&
           c->bytes * each <= (long long)INT_MAX * (long long)pl_types[c->type].size;
}

/* The later block first: what a rank sends begins with its blocks for nearer neighbours, and these
 * are written over then. */
static void expect_blocks(const struct pl_arguments *arguments, const struct pl_case *c, int nprocs,
                          int rank, uint64_t seed, unsigned char *result)
{
    const struct pl_shape shape = pl_case_shape(c, nprocs, rank);
    const size_t bytes = (size_t)shape.total * pl_types[c->type].size;
    const bool own = c->operation->landing == PL_LANDS_OWN_BLOCKS;
    for (int block = PL_NEIGHBOURS - 1; block >= 0; block--) {
        const int sender = pl_neighbour(rank, block, nprocs);
        const long long blocks = own ? block + 1 : 1;
        unsigned char *to = own ? result : result + (size_t)block * bytes;
        pl_data_fill(to, (size_t)(blocks * shape.total), c->type, -1, arguments->nprocs,
                     pl_random_stream(seed, (uint64_t)sender, 0));
    }
}

void pl_pattern_expect(const struct pl_arguments *arguments, const struct pl_case *c, int nprocs,
                       int rank, uint64_t seed, unsigned char *result)
{
    const struct pl_shape shape = pl_case_shape(c, nprocs, rank);
    const size_t bytes = (size_t)shape.total * pl_types[c->type].size;
    int sender = c->root;
    if (is_of_neighbours(c->operation->landing)) {
        expect_blocks(arguments, c, nprocs, rank, seed, result);
        return;
    }
    if (c->operation->landing == PL_LANDS_SWAPPED && rank == c->root)
        sender = pl_partner(c->root, nprocs);
    if (shape.recv == 0)
        return;
    pl_data_fill(result, (size_t)shape.total, c->type, -1, arguments->nprocs,
                 pl_random_stream(seed, (uint64_t)sender, 0));
    for (long long slot = 1; slot < shape.recv / (shape.total ? shape.total : 1); slot++)
        memcpy(result + (size_t)slot * bytes, result, bytes);
}
