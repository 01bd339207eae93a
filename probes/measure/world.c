/* Start and end of MPI, and the probe's own collectives. MPI_T is up before MPI_Init and down
 * before MPI_Finalize: Open MPI 4.1 crashes when it is taken down later. */
#include "measure/world.h"

#include "simulated.h"
#include "system/cvar.h"
#include "variant.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t pl_world_elapsed_ns(const struct pl_world *world)
{
    return now_ns() - world->started_ns;
}

/* --- collectives, out of point-to-point messages: rank 0 is always the root; in the trees the
 * parent of a rank is the rank without its lowest set bit --- */

enum {
    TAG_BROADCAST = 1,
    TAG_GATHER,
    TAG_FETCH,
    TAG_HAND,
    TAG_REDUCE,
    TAG_BARRIER,
    TAG_WAKE,
    TAG_TRIP
};
enum { TRIPS = 64 };

void pl_p2p_broadcast(const struct pl_world *world, void *buffer, int bytes)
{
    int bit = 1;
    while (bit < world->size && !(world->rank & bit))
        bit <<= 1;
    if (world->rank > 0)
        PMPI_Recv(buffer, bytes, MPI_BYTE, world->rank - bit, TAG_BROADCAST, world->harness,
                  MPI_STATUS_IGNORE);
    for (bit >>= 1; bit > 0; bit >>= 1)
        if (world->rank + bit < world->size)
            PMPI_Send(buffer, bytes, MPI_BYTE, world->rank + bit, TAG_BROADCAST, world->harness);
}

void pl_p2p_gather(const struct pl_world *world, const void *mine, int bytes, void *all)
{
    if (world->rank > 0) {
        PMPI_Send(mine, bytes, MPI_BYTE, 0, TAG_GATHER, world->harness);
        return;
    }
    memcpy(all, mine, (size_t)bytes);
    for (int rank = 1; rank < world->size; rank++)
        PMPI_Recv((char *)all + (size_t)rank * (size_t)bytes, bytes, MPI_BYTE, rank, TAG_GATHER,
                  world->harness, MPI_STATUS_IGNORE);
}

void pl_p2p_fetch(const struct pl_world *world, int rank, void *buffer, int bytes)
{
    if (rank == 0)
        return;
    if (world->rank == rank)
        PMPI_Send(buffer, bytes, MPI_BYTE, 0, TAG_FETCH, world->harness);
    else if (world->rank == 0)
        PMPI_Recv(buffer, bytes, MPI_BYTE, rank, TAG_FETCH, world->harness, MPI_STATUS_IGNORE);
}

void pl_p2p_hand(const struct pl_world *world, int rank, void *buffer, int bytes)
{
    if (world->rank == 0)
        PMPI_Send(buffer, bytes, MPI_BYTE, rank, TAG_HAND, world->harness);
    else
        PMPI_Recv(buffer, bytes, MPI_BYTE, 0, TAG_HAND, world->harness, MPI_STATUS_IGNORE);
}

static void maximum(int64_t *values, const int64_t *other, int count)
{
    for (int i = 0; i < count; i++)
        if (other[i] > values[i])
            values[i] = other[i];
}

static void sum(int64_t *values, const int64_t *other, int count)
{
    for (int i = 0; i < count; i++)
        values[i] += other[i];
}

static void reduce_chunk(const struct pl_world *world, int64_t *values, int count,
                         void (*combine)(int64_t *, const int64_t *, int))
{
    int64_t other[PL_P2P_CHUNK];
    for (int bit = 1; bit < world->size; bit <<= 1) {
        if (world->rank & bit) {
            PMPI_Send(values, count, MPI_INT64_T, world->rank - bit, TAG_REDUCE, world->harness);
            return;
        }
        if (world->rank + bit >= world->size)
            continue;
        PMPI_Recv(other, count, MPI_INT64_T, world->rank + bit, TAG_REDUCE, world->harness,
                  MPI_STATUS_IGNORE);
        combine(values, other, count);
    }
}

static void reduce(const struct pl_world *world, int64_t *values, int count,
                   void (*combine)(int64_t *, const int64_t *, int))
{
    for (int done = 0; done < count; done += PL_P2P_CHUNK)
        reduce_chunk(world, values + done,
                     count - done < PL_P2P_CHUNK ? count - done : PL_P2P_CHUNK, combine);
}

void pl_p2p_maximum(const struct pl_world *world, int64_t *values, int count)
{
    reduce(world, values, count, maximum);
}

void pl_p2p_sum(const struct pl_world *world, int64_t *values, int count)
{
    reduce(world, values, count, sum);
}

int64_t pl_p2p_agree(const struct pl_world *world, int64_t value)
{
    pl_p2p_maximum(world, &value, 1);
    pl_p2p_broadcast(world, &value, (int)sizeof value);
    return value;
}

int64_t pl_p2p_trip_ns(const struct pl_world *world)
{
    int64_t shortest = INT64_MAX;
    char ball = 0;
    if (PL_SIMULATED || world->size < 2 || world->rank > 1)
        return 0;
    for (int trip = 0; trip < TRIPS; trip++) {
        const int64_t begin = pl_world_elapsed_ns(world);
        if (world->rank == 0)
            PMPI_Send(&ball, 1, MPI_BYTE, 1, TAG_TRIP, world->harness);
        PMPI_Recv(&ball, 1, MPI_BYTE, 1 - world->rank, TAG_TRIP, world->harness, MPI_STATUS_IGNORE);
        if (world->rank == 1)
            PMPI_Send(&ball, 1, MPI_BYTE, 0, TAG_TRIP, world->harness);
        const int64_t took = pl_world_elapsed_ns(world) - begin;
        shortest = took < shortest ? took : shortest;
    }
    return world->rank == 0 ? shortest : 0;
}

void pl_p2p_barrier(const struct pl_world *world)
{
    for (int distance = 1; distance < world->size; distance <<= 1)
        PMPI_Sendrecv(NULL, 0, MPI_BYTE, (world->rank + distance) % world->size, TAG_BARRIER, NULL,
                      0, MPI_BYTE, (world->rank - distance + world->size) % world->size,
                      TAG_BARRIER, world->sync, MPI_STATUS_IGNORE);
}

void pl_p2p_wake(const struct pl_world *world, int rank)
{
    PMPI_Send(NULL, 0, MPI_BYTE, rank, TAG_WAKE, world->harness);
}

bool pl_p2p_is_called(const struct pl_world *world, int rank)
{
    int here = 0;
    PMPI_Iprobe(rank, TAG_WAKE, world->harness, &here, MPI_STATUS_IGNORE);
    if (here)
        PMPI_Recv(NULL, 0, MPI_BYTE, rank, TAG_WAKE, world->harness, MPI_STATUS_IGNORE);
    return here;
}

void pl_p2p_sleep(const struct pl_world *world, int until_rank)
{
    const struct timespec nap = {.tv_nsec = 200000};
    while (!pl_p2p_is_called(world, until_rank))
        nanosleep(&nap, NULL);
}

/* --- start and end --- */

/* A new communicator costs SMPI p (p - 1) messages: it looks for nodes. On a simulated machine,
 * whose ranks never fail, the probe's own messages run on the communicator itself, with tags of
 * theirs; variants send on one of their own. */
void pl_world_open(struct pl_world *world, MPI_Comm comm)
{
    world->harness = world->sync = comm;
    if (PL_SIMULATED)
        return;
    PMPI_Comm_dup(comm, &world->harness);
    PMPI_Comm_dup(comm, &world->sync);
    PMPI_Comm_set_errhandler(world->harness, MPI_ERRORS_ARE_FATAL);
    PMPI_Comm_set_errhandler(world->sync, MPI_ERRORS_ARE_FATAL);
}

void pl_world_close(struct pl_world *world)
{
    if (PL_SIMULATED)
        return;
    PMPI_Comm_free(&world->sync);
    PMPI_Comm_free(&world->harness);
}

/* MPI_THREAD_…; -1: not one that can be asked for. */
static int asked_for(const char *level)
{
    if (!level)
        return MPI_THREAD_SINGLE;
    return strcmp(level, "funneled") == 0   ? MPI_THREAD_FUNNELED
           : strcmp(level, "multiple") == 0 ? MPI_THREAD_MULTIPLE
                                            : -1;
}

const char *pl_world_start(struct pl_world *world)
{
    const char *tools = getenv("PLUMBLINE_MPI_T");
    world->tools = !tools || strcmp(tools, "none") != 0;
    if (world->tools)
        pl_cvar_start();
    world->threads_asked = asked_for(getenv("PLUMBLINE_THREADS"));
    if (world->threads_asked > MPI_THREAD_SINGLE)
        MPI_Init_thread(NULL, NULL, world->threads_asked, &world->threads);
    else
        MPI_Init(NULL, NULL);
    PMPI_Query_thread(&world->threads);
    world->started_ns = now_ns();
    world->comm = MPI_COMM_WORLD;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world->size);
    pl_world_open(world, MPI_COMM_WORLD);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return pl_p2p_agree(world, world->threads_asked < 0)
               ? "takes 'funneled' or 'multiple'; without it MPI_Init is called"
               : NULL;
}

void pl_world_stop(struct pl_world *world)
{
    pl_world_close(world);
    if (world->tools)
        pl_cvar_stop();
    MPI_Finalize();
}

void pl_world_restart(struct pl_world *world)
{
    pl_kept_forget(world->comm);
    world->started_ns = now_ns();
}

struct pl_world pl_world_part(const struct pl_world *world, int first, int ranks)
{
    struct pl_world part = *world;
    if (ranks == world->size)
        return part;
    int range[1][3] = {{first, first + ranks - 1, 1}};
    MPI_Group all, some;
    PMPI_Comm_group(world->comm, &all);
    PMPI_Group_range_incl(all, 1, range, &some);
    PMPI_Comm_create_group(world->comm, some, 0, &part.comm);
    PMPI_Group_free(&some);
    PMPI_Group_free(&all);
    part.rank = world->rank - first;
    part.size = ranks;
    pl_world_open(&part, part.comm);
    PMPI_Comm_set_errhandler(part.comm, MPI_ERRORS_RETURN);
    return part;
}

void pl_world_end_part(struct pl_world *part)
{
    if (part->comm == MPI_COMM_WORLD)
        return;
    pl_world_close(part);
    PMPI_Comm_free(&part->comm);
}
