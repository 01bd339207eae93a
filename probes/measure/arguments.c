#include "measure/arguments.h"

#include "measure/data.h"
#include "measure/replay.h"
#include "measure/types.h"
#include "pattern/pattern.h"
#include "simulated.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The messages of this rank that a case plays; NULL: none. */
static const struct pl_rank_steps *steps_of(const struct pl_case *c, const struct pl_world *world)
{
    const bool plays = c->messages && world->rank < c->messages->ranks;
    return plays ? &c->messages->of_rank[world->rank] : NULL;
}

/* Of messages: what buffers they need. */
static struct pl_shape shape_of(const struct pl_case *c, const struct pl_world *world)
{
    const struct pl_rank_steps *played = steps_of(c, world);
    if (c->messages)
        return (struct pl_shape){.send = played ? (long long)played->send_bytes : 0,
                                 .recv = played ? (long long)played->recv_bytes : 0};
    return pl_case_shape(c, c->ranks ? c->ranks : world->size, world->rank);
}

static long long larger(long long a, long long b)
{
    return a > b ? a : b;
}

/* With room for data in place. */
static struct pl_shape larger_of(struct pl_shape shape, struct pl_shape other)
{
    shape.send = larger(shape.send, other.send);
    shape.recv = larger(shape.send, larger(shape.recv, other.recv));
    return shape;
}

struct pl_arguments_size pl_arguments_size(const struct pl_case *c, const struct pl_world *world)
{
    if (c->ranks > 0 && world->rank >= c->ranks)
        return (struct pl_arguments_size){0, 0};
    struct pl_shape shape = shape_of(c, world);
    size_t size = pl_types[c->type].size, room = c->calls > 0 ? PL_ROOM : 0;
    const int half = world->size / 2, sizes[] = {world->size, world->size - half, half};
    for (int i = 0; c->calls > 0 && i < 3 && sizes[i] > 0; i++) {
        /* Other shapes than the equal one have special calls alone, which are of c->mean at most */
        const struct pl_shares equal = {sizes[i], PL_COUNTS_EQUAL},
                               last = {sizes[i], PL_COUNTS_LAST};
        shape = larger_of(shape, pl_shape_of(c->function, c->bytes, size, equal, 0, 0));
        shape = larger_of(shape,
                          pl_shape_of(c->function, c->mean, size, last, pl_largest_part(last), 0));
    }
    return (struct pl_arguments_size){(size_t)shape.send * size + room,
                                      (size_t)shape.recv * size + room};
}

/* A zeroed, hence touched, buffer with its guards. NULL: no memory. */
static unsigned char *allocate(size_t bytes, size_t page, void **memory)
{
    size_t size = page + (bytes + page - 1) / page * page + page;
    *memory = aligned_alloc(page, size);
    return *memory ? (unsigned char *)memset(*memory, 0, size) + page : NULL;
}

bool pl_buffers_open(struct pl_buffers *buffers, const struct pl_case *cases, int count,
                     const struct pl_world *world)
{
    size_t send = 0, recv = 0;
    *buffers = (struct pl_buffers){.guard = (size_t)sysconf(_SC_PAGESIZE)};
    for (int i = 0; i < count; i++) {
        struct pl_arguments_size size = pl_arguments_size(&cases[i], world);
        if (size.send > send)
            send = size.send;
        if (size.recv > recv)
            recv = size.recv;
    }
    buffers->send = allocate(send, buffers->guard, &buffers->memory[0]);
    buffers->recv = allocate(recv, buffers->guard, &buffers->memory[1]);
    buffers->pristine = allocate(send, buffers->guard, &buffers->memory[2]);
    buffers->reference = allocate(recv, buffers->guard, &buffers->memory[3]);
    buffers->counts = calloc(4 * (size_t)world->size, sizeof *buffers->counts);
    buffers->references = calloc((size_t)world->size, sizeof *buffers->references);
    bool good = buffers->send && buffers->recv && buffers->pristine && buffers->reference &&
                buffers->counts && buffers->references;
    if (pl_p2p_agree(world, !good))
        return false;
    buffers->references[world->rank] = buffers->reference;
    if (PL_SIMULATED)
        pl_p2p_gather(world, &buffers->reference, (int)sizeof buffers->reference,
                      (void *)buffers->references);
    return true;
}

void pl_buffers_close(struct pl_buffers *buffers)
{
    for (size_t i = 0; i < sizeof buffers->memory / sizeof *buffers->memory; i++)
        free(buffers->memory[i]);
    free(buffers->counts);
    free((void *)buffers->references);
    *buffers = (struct pl_buffers){0};
}

/* Counts and displacements of the parts of all ranks. */
static void split(int *counts, int *displs, const struct pl_shape *shape)
{
    for (int rank = 0; rank < shape->parts.nprocs; rank++) {
        counts[rank] = (int)pl_part_count(shape->total, shape->parts, rank);
        displs[rank] = (int)pl_part_start(shape->total, shape->parts, rank);
    }
}

static void set_counts(struct pl_call *call, const struct pl_shape *shape, int *counts)
{
    const int nprocs = shape->parts.nprocs;
    int *sendcounts = counts, *sdispls = sendcounts + nprocs;
    int *recvcounts = sdispls + nprocs, *rdispls = recvcounts + nprocs;
    call->sendcounts = sendcounts;
    call->sdispls = sdispls;
    call->recvcounts = recvcounts;
    call->rdispls = rdispls;
    split(sendcounts, sdispls, shape);
    split(recvcounts, rdispls, shape);
    if (call->function != PL_FN_alltoallv)
        return;
    for (int rank = 0; rank < nprocs; rank++) { /* every rank sends this one its part */
        recvcounts[rank] = (int)shape->mine;
        rdispls[rank] = (int)(rank * shape->mine);
    }
}

void pl_arguments_set(struct pl_arguments *arguments, const struct pl_case *c,
                      const struct pl_world *world, const struct pl_buffers *buffers, MPI_Comm comm)
{
    struct pl_call *call = &arguments->call;
    *arguments = (struct pl_arguments){.shape = shape_of(c, world), .nprocs = world->size};
    const struct pl_shape *shape = &arguments->shape;
    arguments->send_bytes = (size_t)shape->send * pl_types[c->type].size;
    arguments->recv_bytes = (size_t)shape->recv * pl_types[c->type].size;
    arguments->op = pl_function_reduces(c->function) ? c->op : -1;

    *call = (struct pl_call){.function = c->function,
                             .sendbuf = buffers->send,
                             .recvbuf = buffers->recv,
                             .recvtype = pl_type_handle(c->type),
                             .comm = comm,
                             .values = c->spec.values,
                             .messages = steps_of(c, world)};
    if (pl_case_has_root(c))
        call->root = c->root;
    if (arguments->op >= 0)
        call->op = pl_op_handle(c->op);
    else
        call->sendtype = call->recvtype;

    /* The same arguments on every rank, as applications and benchmarks write them, also where they
     * are not significant. */
    int block = (int)(shape->total / world->size);
    switch (c->function) {
    case PL_FN_gather:
    case PL_FN_scatter:
    case PL_FN_allgather:
    case PL_FN_alltoall:
        call->sendcount = call->recvcount = block;
        break;
    case PL_FN_reduce_scatter_block:
        call->recvcount = block;
        break;
    case PL_FN_gatherv:
    case PL_FN_allgatherv:
        call->sendcount = (int)shape->mine;
        set_counts(call, shape, buffers->counts);
        break;
    case PL_FN_scatterv:
        call->recvcount = (int)shape->mine;
        set_counts(call, shape, buffers->counts);
        break;
    case PL_FN_alltoallv:
    case PL_FN_reduce_scatter:
        set_counts(call, shape, buffers->counts);
        break;
    case PL_FN_reduce_local:
        arguments->nprocs = 2;
        call->recvcount = (int)shape->total;
        break;
    default:
        call->recvcount = (int)shape->total;
    }
}

static void fill_send(const struct pl_arguments *arguments, const struct pl_case *c,
                      const struct pl_world *world, uint64_t seed)
{
    pl_data_fill((void *)arguments->call.sendbuf, (size_t)arguments->shape.send, c->type,
                 arguments->op, arguments->nprocs,
                 pl_random_stream(seed, (uint64_t)world->rank, 0));
}

static void fill_inout(const struct pl_arguments *arguments, const struct pl_case *c,
                       const struct pl_world *world, uint64_t seed)
{
    if (arguments->shape.inout)
        pl_data_fill(arguments->call.recvbuf, (size_t)arguments->shape.recv, c->type, arguments->op,
                     arguments->nprocs, pl_random_stream(seed, (uint64_t)world->rank, 1));
}

void pl_arguments_fill(const struct pl_arguments *arguments, const struct pl_case *c,
                       const struct pl_world *world, uint64_t seed)
{
    fill_send(arguments, c, world, seed);
    fill_inout(arguments, c, world, seed);
}

void pl_arguments_refill(const struct pl_arguments *arguments, const struct pl_case *c,
                         const struct pl_world *world, struct pl_buffers *buffers, uint64_t seed)
{
    struct pl_contents *sent = &buffers->sent;
    const struct pl_contents contents = {.elements = (size_t)arguments->shape.send,
                                         .type = c->type,
                                         .op = arguments->op,
                                         .nprocs = arguments->nprocs,
                                         .rank = world->rank,
                                         .seed = seed};
    if (contents.elements > sent->elements || contents.type != sent->type ||
        contents.op != sent->op || contents.nprocs != sent->nprocs || contents.rank != sent->rank ||
        contents.seed != sent->seed) {
        fill_send(arguments, c, world, seed);
        *sent = contents;
    }
    if (c->operation) /* some write where they have sent from */
        sent->elements = 0;
    fill_inout(arguments, c, world, seed);
}
