#include "measure/expected.h"

#include "measure/data.h"
#include "measure/types.h"
#include "pattern/pattern.h"
#include "simulated.h"

#include <string.h>

/* Bytes of all ranks' data, beyond which the library itself is asked: of a check, of which there
 * are many in a launch, and of a trial's call. */
#define MOST_BYTES (4 << 20)
#define MOST_BYTES_TRIED (64 << 20)

bool pl_expected_is_cheap(const struct pl_arguments *arguments, const struct pl_case *c)
{
    double bytes = (double)arguments->shape.total * (double)pl_types[c->type].size;
    if (c->pattern)
        return true;
    if (c->function == PL_FN_reduce_local)
        return false;
    return PL_SIMULATED || bytes * arguments->nprocs <= (c->calls ? MOST_BYTES_TRIED : MOST_BYTES);
}

/* Of the ranks from `first` to before `last` this one writes the results. */
struct maker {
    const struct pl_arguments *arguments;
    const struct pl_case *c;
    const struct pl_buffers *buffers;
    uint64_t seed;
    int ranks, first, last;
    size_t width;
};

/* Of `rank`, which is this one unless the machine is simulated. */
static unsigned char *result_of(const struct maker *maker, int rank)
{
    return PL_SIMULATED ? maker->buffers->references[rank] : maker->buffers->reference;
}

/* What `rank` sends, as pl_arguments_fill makes it: `elements` of it. */
static void data_of(const struct maker *maker, int rank, long long elements, void *to)
{
    uint64_t which = maker->arguments->shape.inout;
    pl_data_fill(to, (size_t)elements, maker->c->type, maker->arguments->op,
                 maker->arguments->nprocs, pl_random_stream(maker->seed, (uint64_t)rank, which));
}

/* Elements of `from`, beginning with `start`, to element `place` of what `rank` gets, if its result
 * is one of those to be written. */
static void give(const struct maker *maker, int rank, long long place, const unsigned char *from,
                 long long start, long long elements)
{
    if (maker->first <= rank && rank < maker->last && elements > 0 &&
        result_of(maker, rank) != from)
        memcpy(result_of(maker, rank) + (size_t)place * maker->width,
               from + (size_t)start * maker->width, (size_t)elements * maker->width);
}

static void give_all(const struct maker *maker, const unsigned char *from)
{
    for (int rank = maker->first; rank < maker->last; rank++)
        give(maker, rank, 0, from, 0, maker->arguments->shape.total);
}

static long long start_of(const struct maker *maker, int rank)
{
    return pl_part_start(maker->arguments->shape.total, maker->arguments->shape.parts, rank);
}

static long long count_of(const struct maker *maker, int rank)
{
    return pl_part_count(maker->arguments->shape.total, maker->arguments->shape.parts, rank);
}

/* To each rank its part of `from`. */
static void give_parts(const struct maker *maker, const unsigned char *from)
{
    for (int rank = maker->first; rank < maker->last; rank++)
        give(maker, rank, 0, from, start_of(maker, rank), count_of(maker, rank));
}

/* Each rank's part behind the one before. */
static void join(const struct maker *maker, unsigned char *to)
{
    for (int rank = 0; rank < maker->ranks; rank++)
        data_of(maker, rank, count_of(maker, rank),
                to + (size_t)start_of(maker, rank) * maker->width);
}

/* From each rank the part that is for the other. */
static void exchange(const struct maker *maker)
{
    const long long total = maker->arguments->shape.total;
    for (int from = 0; from < maker->ranks; from++) {
        data_of(maker, from, total, maker->buffers->send);
        for (int to = maker->first; to < maker->last; to++) {
            long long part = count_of(maker, to);
            give(maker, to, from * part, maker->buffers->send, start_of(maker, to), part);
        }
    }
}

/* The vectors of the ranks, reduced one by one in their order, to `*result`. What is there before
 * and after each, Exscan and Scan give on the way, which ends with the last rank that wants it. */
static int reduce(const struct maker *maker, const unsigned char **result)
{
    const struct pl_call *call = &maker->arguments->call;
    const enum pl_function function = maker->c->function;
    const bool prefixes = function == PL_FN_scan || function == PL_FN_exscan;
    const long long total = maker->arguments->shape.total;
    unsigned char *sum = maker->buffers->send, *next = maker->buffers->pristine;
    int rc = MPI_SUCCESS;

    for (int rank = 0; rank < (prefixes ? maker->last : maker->ranks); rank++) {
        if (function == PL_FN_exscan && rank > 0)
            give(maker, rank, 0, sum, 0, total);
        data_of(maker, rank, total, rank == 0 ? sum : next);
        if (rank > 0) { /* the operands before this rank's stand left of it */
            rc = PMPI_Reduce_local(sum, next, (int)total, call->recvtype, call->op);
            unsigned char *free = sum;
            sum = next;
            next = free;
        }
        if (rc != MPI_SUCCESS)
            break;
        if (function == PL_FN_scan)
            give(maker, rank, 0, sum, 0, total);
    }
    *result = sum;
    return rc;
}

static int make(const struct maker *maker)
{
    const struct pl_buffers *buffers = maker->buffers;
    const long long total = maker->arguments->shape.total;
    const int root = maker->c->root;
    const bool has_root = maker->first <= root && root < maker->last;
    const unsigned char *sum = buffers->send;
    int rc = MPI_SUCCESS;

    switch (maker->c->function) {
    case PL_FN_bcast:
        data_of(maker, root, total, buffers->reference);
        give_all(maker, buffers->reference);
        break;
    case PL_FN_scatter:
    case PL_FN_scatterv:
        data_of(maker, root, total, buffers->send);
        give_parts(maker, buffers->send);
        break;
    case PL_FN_gather:
    case PL_FN_gatherv:
        if (has_root)
            join(maker, result_of(maker, root));
        break;
    case PL_FN_allgather:
    case PL_FN_allgatherv:
        join(maker, buffers->reference);
        give_all(maker, buffers->reference);
        break;
    case PL_FN_alltoall:
    case PL_FN_alltoallv:
        exchange(maker);
        break;
    case PL_FN_reduce:
        rc = has_root ? reduce(maker, &sum) : MPI_SUCCESS;
        give(maker, root, 0, sum, 0, total);
        break;
    case PL_FN_allreduce:
        rc = reduce(maker, &sum);
        give_all(maker, sum);
        break;
    case PL_FN_reduce_scatter:
    case PL_FN_reduce_scatter_block:
        rc = reduce(maker, &sum);
        give_parts(maker, sum);
        break;
    case PL_FN_scan:
    case PL_FN_exscan:
        return reduce(maker, &sum);
    default: /* barrier */
        break;
    }
    return rc;
}

int pl_expected(const struct pl_arguments *arguments, const struct pl_case *c,
                const struct pl_world *world, const struct pl_buffers *buffers, uint64_t seed)
{
    struct maker maker = {.arguments = arguments,
                          .c = c,
                          .buffers = buffers,
                          .seed = seed,
                          .ranks = world->size,
                          .first = world->rank,
                          .last = world->rank + 1,
                          .width = pl_types[c->type].size};
    int rc = MPI_SUCCESS;

    if (PL_SIMULATED) {
        maker.first = 0;
        maker.last = world->rank == 0 ? world->size : 0;
        if (c->calls) /* no agreement comes between a comparison and what is written next */
            pl_p2p_barrier(world);
    }
    if (c->pattern)
        for (int rank = maker.first; rank < maker.last; rank++)
            pl_pattern_expect(arguments, c, world->size, rank, seed, buffers->references[rank]);
    else if (maker.first < maker.last)
        rc = make(&maker);
    if (PL_SIMULATED && c->calls)
        pl_p2p_barrier(world);
    return rc;
}
