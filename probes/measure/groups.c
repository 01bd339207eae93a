/* Groups are made once, before anything is measured: no communicator comes into being between
 * cases. */
#include "measure/groups.h"

#include <stdlib.h>

static bool holds(const struct pl_group *group, const struct pl_world *world)
{
    return group->ranks == 0 || world->rank < group->ranks;
}

/* The distinct `ranks` of the plan, in its order. */
static void list(struct pl_groups *groups, const struct pl_plan *plan)
{
    groups->group[groups->count++].ranks = 0;
    for (int i = 0; i < plan->case_count; i++)
        if (pl_groups_of(groups, &plan->cases[i]) < 0)
            groups->group[groups->count++].ranks = plan->cases[i].ranks;
}

static void open_group(struct pl_group *group, const struct pl_world *world)
{
    int color = holds(group, world) ? 0 : MPI_UNDEFINED;
    group->world = *world;
    PMPI_Comm_split(MPI_COMM_WORLD, color, world->rank, &group->comm);
    if (group->comm == MPI_COMM_NULL)
        return;
    group->world.size = group->ranks;
    pl_world_open(&group->world, group->comm);
    PMPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
}

bool pl_groups_open(struct pl_groups *groups, const struct pl_plan *plan,
                    const struct pl_world *world)
{
    *groups = (struct pl_groups){.world = world};
    groups->group = calloc((size_t)plan->case_count + 1, sizeof *groups->group);
    if (pl_p2p_agree(world, !groups->group)) {
        free(groups->group);
        groups->group = NULL;
        return false;
    }
    list(groups, plan);
    groups->group[0].world = *world;
    groups->group[0].comm = MPI_COMM_WORLD;
    for (int i = 1; i < groups->count; i++)
        open_group(&groups->group[i], world);
    return true;
}

void pl_groups_close(struct pl_groups *groups)
{
    for (int i = 1; groups->group && i < groups->count; i++) {
        struct pl_group *group = &groups->group[i];
        if (group->comm == MPI_COMM_NULL)
            continue;
        pl_world_close(&group->world);
        PMPI_Comm_free(&group->comm);
    }
    free(groups->group);
    *groups = (struct pl_groups){0};
}

int pl_groups_of(const struct pl_groups *groups, const struct pl_case *c)
{
    for (int i = 0; i < groups->count; i++)
        if (groups->group[i].ranks == c->ranks)
            return i;
    return -1;
}

int pl_groups_split(const struct pl_groups *groups, MPI_Comm comm, MPI_Comm *comms)
{
    int rc = MPI_SUCCESS;
    comms[0] = comm;
    for (int i = 1; i < groups->count; i++) {
        int color = holds(&groups->group[i], groups->world) ? 0 : MPI_UNDEFINED;
        int one = PMPI_Comm_split(comm, color, groups->world->rank, &comms[i]);
        rc = one == MPI_SUCCESS ? rc : one;
        if (one == MPI_SUCCESS && comms[i] != MPI_COMM_NULL)
            PMPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    return rc;
}

void pl_groups_free(const struct pl_groups *groups, MPI_Comm *comms)
{
    for (int i = 1; i < groups->count; i++)
        if (comms[i] != MPI_COMM_NULL)
            PMPI_Comm_free(&comms[i]);
}

bool pl_groups_enter(const struct pl_groups *groups, int group)
{
    if (holds(&groups->group[group], groups->world))
        return true;
    pl_p2p_sleep(groups->world, 0);
    return false;
}

void pl_groups_leave(const struct pl_groups *groups, int group)
{
    const struct pl_group *left = &groups->group[group];
    if (groups->world->rank > 0 || left->ranks == 0)
        return;
    for (int rank = left->ranks; rank < groups->world->size; rank++)
        pl_p2p_wake(groups->world, rank);
}
