/* Parts are made once, before anything is measured: no communicator comes into being between
 * cases. */
#include "measure/parts.h"

#include <stdlib.h>

static bool holds(const struct pl_part *part, const struct pl_world *world)
{
    return part->ranks == 0 || world->rank < part->ranks;
}

/* The distinct `ranks` of the plan, in its order. */
static void list(struct pl_parts *parts, const struct pl_plan *plan)
{
    parts->part[parts->count++].ranks = 0;
    for (int i = 0; i < plan->case_count; i++)
        if (pl_parts_of(parts, &plan->cases[i]) < 0)
            parts->part[parts->count++].ranks = plan->cases[i].ranks;
}

static void open_part(struct pl_part *part, const struct pl_world *world)
{
    int color = holds(part, world) ? 0 : MPI_UNDEFINED;
    part->world = *world;
    PMPI_Comm_split(MPI_COMM_WORLD, color, world->rank, &part->comm);
    if (part->comm == MPI_COMM_NULL)
        return;
    part->world.size = part->ranks;
    PMPI_Comm_dup(part->comm, &part->world.harness);
    PMPI_Comm_dup(part->comm, &part->world.sync);
    PMPI_Comm_set_errhandler(part->world.harness, MPI_ERRORS_ARE_FATAL);
    PMPI_Comm_set_errhandler(part->world.sync, MPI_ERRORS_ARE_FATAL);
    PMPI_Comm_set_errhandler(part->comm, MPI_ERRORS_RETURN);
}

bool pl_parts_open(struct pl_parts *parts, const struct pl_plan *plan, const struct pl_world *world)
{
    *parts = (struct pl_parts){.world = world};
    parts->part = calloc((size_t)plan->case_count + 1, sizeof *parts->part);
    if (pl_p2p_agree(world, !parts->part)) {
        free(parts->part);
        parts->part = NULL;
        return false;
    }
    list(parts, plan);
    parts->part[0].world = *world;
    parts->part[0].comm = MPI_COMM_WORLD;
    for (int i = 1; i < parts->count; i++)
        open_part(&parts->part[i], world);
    return true;
}

void pl_parts_close(struct pl_parts *parts)
{
    for (int i = 1; parts->part && i < parts->count; i++) {
        struct pl_part *part = &parts->part[i];
        if (part->comm == MPI_COMM_NULL)
            continue;
        PMPI_Comm_free(&part->world.sync);
        PMPI_Comm_free(&part->world.harness);
        PMPI_Comm_free(&part->comm);
    }
    free(parts->part);
    *parts = (struct pl_parts){0};
}

int pl_parts_of(const struct pl_parts *parts, const struct pl_case *c)
{
    for (int i = 0; i < parts->count; i++)
        if (parts->part[i].ranks == c->ranks)
            return i;
    return -1;
}

int pl_parts_split(const struct pl_parts *parts, MPI_Comm comm, MPI_Comm *comms)
{
    int rc = MPI_SUCCESS;
    comms[0] = comm;
    for (int i = 1; i < parts->count; i++) {
        int color = holds(&parts->part[i], parts->world) ? 0 : MPI_UNDEFINED;
        int one = PMPI_Comm_split(comm, color, parts->world->rank, &comms[i]);
        rc = one == MPI_SUCCESS ? rc : one;
        if (one == MPI_SUCCESS && comms[i] != MPI_COMM_NULL)
            PMPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    return rc;
}

void pl_parts_free(const struct pl_parts *parts, MPI_Comm *comms)
{
    for (int i = 1; i < parts->count; i++)
        if (comms[i] != MPI_COMM_NULL)
            PMPI_Comm_free(&comms[i]);
}

bool pl_parts_enter(const struct pl_parts *parts, int part)
{
    if (holds(&parts->part[part], parts->world))
        return true;
    pl_p2p_sleep(parts->world, 0);
    return false;
}

void pl_parts_leave(const struct pl_parts *parts, int part)
{
    const struct pl_part *left = &parts->part[part];
    if (parts->world->rank > 0 || left->ranks == 0)
        return;
    for (int rank = left->ranks; rank < parts->world->size; rank++)
        pl_p2p_wake(parts->world, rank);
}
