/* Start and end of MPI. MPI_T is up before MPI_Init and down before MPI_Finalize: Open MPI 4.1
 * crashes when it is taken down later. */
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
    pl_kept_forget(MPI_COMM_WORLD);
    world->started_ns = now_ns();
}

int64_t pl_world_elapsed_ns(const struct pl_world *world)
{
    return now_ns() - world->started_ns;
}
