#include "measure/expected.h"

#include "measure/data.h"
#include "measure/types.h"
#include "simulated.h"

#include <string.h>

/* Bytes of all ranks' data, beyond which the library itself is asked: of a check, of which there
 * are many in a launch, and of a trial's call. In a simulation all ranks are one process. */
#define MOST_BYTES (PL_SIMULATED ? 0 : 4 << 20)
#define MOST_BYTES_TRIED (PL_SIMULATED ? 0 : 64 << 20)

bool pl_expected_is_cheap(const struct pl_arguments *arguments, const struct pl_case *c)
{
    double bytes = (double)arguments->shape.total * (double)pl_types[c->type].size;
    return c->function != PL_FN_reduce_local &&
           bytes * arguments->nprocs <= (c->calls ? MOST_BYTES_TRIED : MOST_BYTES);
}

struct maker {
    const struct pl_arguments *arguments;
    const struct pl_case *c;
    const struct pl_buffers *buffers;
    uint64_t seed;
    int ranks, rank;
    size_t width;
};

/* What `rank` sends, as pl_arguments_fill makes it: `elements` of it. */
static void data_of(const struct maker *maker, int rank, long long elements, void *to)
{
    uint64_t which = maker->arguments->shape.inout;
    pl_data_fill(to, (size_t)elements, maker->c->type, maker->arguments->op,
                 maker->arguments->nprocs, pl_random_stream(maker->seed, (uint64_t)rank, which));
}

/* Element `index` of a buffer. */
static unsigned char *at(const struct maker *maker, unsigned char *buffer, long long index)
{
    return buffer + (size_t)index * maker->width;
}

static void copy(const struct maker *maker, unsigned char *to, unsigned char *from, long long first,
                 long long elements)
{
    if (elements > 0)
        memcpy(to, at(maker, from, first), (size_t)elements * maker->width);
}

/* Each rank's part behind the one before. */
static void joined(const struct maker *maker)
{
    long long total = maker->arguments->shape.total;
    for (int rank = 0; rank < maker->ranks; rank++)
        data_of(maker, rank, pl_split_count(total, maker->ranks, rank),
                at(maker, maker->buffers->reference, pl_split_start(total, maker->ranks, rank)));
}

/* From each rank the part that is for this one. */
static void exchanged(const struct maker *maker)
{
    const struct pl_shape *shape = &maker->arguments->shape;
    long long mine = pl_split_start(shape->total, maker->ranks, maker->rank);
    for (int rank = 0; rank < maker->ranks; rank++) {
        data_of(maker, rank, shape->total, maker->buffers->send);
        copy(maker, at(maker, maker->buffers->reference, rank * shape->mine), maker->buffers->send,
             mine, shape->mine);
    }
}

/* The vectors of the first `ranks` ranks, reduced; `first` and `elements` of the result. */
static int reduced(const struct maker *maker, int ranks, long long first, long long elements)
{
    const struct pl_call *call = &maker->arguments->call;
    const long long total = maker->arguments->shape.total;
    int rc = MPI_SUCCESS;
    if (ranks == 0)
        return rc;
    data_of(maker, 0, total, maker->buffers->send);
    for (int rank = 1; rank < ranks && rc == MPI_SUCCESS; rank++) {
        data_of(maker, rank, total, maker->buffers->pristine);
        rc = PMPI_Reduce_local(maker->buffers->pristine, maker->buffers->send, (int)total,
                               call->recvtype, call->op);
    }
    copy(maker, maker->buffers->reference, maker->buffers->send, first, elements);
    return rc;
}

int pl_expected(const struct pl_arguments *arguments, const struct pl_case *c,
                const struct pl_world *world, const struct pl_buffers *buffers, uint64_t seed)
{
    const struct pl_shape *shape = &arguments->shape;
    const struct maker maker = {.arguments = arguments,
                                .c = c,
                                .buffers = buffers,
                                .seed = seed,
                                .ranks = world->size,
                                .rank = world->rank,
                                .width = pl_types[c->type].size};
    long long mine = pl_split_start(shape->total, maker.ranks, maker.rank);

    switch (c->function) {
    case PL_FN_bcast:
        data_of(&maker, c->root, shape->total, buffers->reference);
        return MPI_SUCCESS;
    case PL_FN_scatter:
    case PL_FN_scatterv:
        data_of(&maker, c->root, shape->total, buffers->send);
        copy(&maker, buffers->reference, buffers->send, mine, shape->mine);
        return MPI_SUCCESS;
    case PL_FN_gather:
    case PL_FN_gatherv:
        if (maker.rank == c->root)
            joined(&maker);
        return MPI_SUCCESS;
    case PL_FN_allgather:
    case PL_FN_allgatherv:
        joined(&maker);
        return MPI_SUCCESS;
    case PL_FN_alltoall:
    case PL_FN_alltoallv:
        exchanged(&maker);
        return MPI_SUCCESS;
    case PL_FN_reduce:
        return maker.rank == c->root ? reduced(&maker, maker.ranks, 0, shape->total) : MPI_SUCCESS;
    case PL_FN_allreduce:
        return reduced(&maker, maker.ranks, 0, shape->total);
    case PL_FN_reduce_scatter:
    case PL_FN_reduce_scatter_block:
        return reduced(&maker, maker.ranks, mine, shape->mine);
    case PL_FN_scan:
        return reduced(&maker, maker.rank + 1, 0, shape->total);
    case PL_FN_exscan:
        return reduced(&maker, maker.rank, 0, shape->total);
    default: /* barrier */
        return MPI_SUCCESS;
    }
}
