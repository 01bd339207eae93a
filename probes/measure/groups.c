/* Groups are made once, before anything is measured: no communicator comes into being between
 * cases. */
#include "measure/groups.h"

#include "simulated.h"

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

static bool has_trials(const struct pl_plan *plan)
{
    for (int i = 0; i < plan->case_count; i++)
        if (plan->cases[i].calls > 0 && plan->cases[i].ranks == 0)
            return true;
    return false;
}

/* Simulated, the right results of all ranks lie on rank 0, in the order of the launch's. */
static void list_companies(struct pl_groups *groups)
{
    for (int i = PL_DUPLICATE; i < (PL_SIMULATED ? PL_REVERSED : PL_COMPANIES); i++) {
        groups->company[i] = groups->count;
        groups->group[groups->count++] = (struct pl_group){
            .company = (enum pl_company)i, .part = i == PL_HALF ? groups->world->rank % 2 : 0};
    }
}

static int make(const struct pl_group *group, const struct pl_world *world, MPI_Comm comm,
                MPI_Comm *made)
{
    switch (group->company) {
    case PL_DUPLICATE:
        return PMPI_Comm_dup(comm, made);
    case PL_REVERSED:
        return PMPI_Comm_split(comm, 0, -world->rank, made);
    case PL_HALF:
        return PMPI_Comm_split(comm, group->part, world->rank, made);
    default:
        return PMPI_Comm_split(comm, holds(group, world) ? 0 : MPI_UNDEFINED, world->rank, made);
    }
}

static void open_group(struct pl_group *group, const struct pl_world *world)
{
    group->world = *world;
    make(group, world, world->comm, &group->comm);
    if (group->comm == MPI_COMM_NULL)
        return;
    group->world.comm = group->comm;
    PMPI_Comm_size(group->comm, &group->world.size);
    PMPI_Comm_rank(group->comm, &group->world.rank);
    pl_world_open(&group->world, group->comm);
    PMPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
}

bool pl_groups_open(struct pl_groups *groups, const struct pl_plan *plan,
                    const struct pl_world *world)
{
    *groups = (struct pl_groups){.world = world};
    groups->group = calloc((size_t)plan->case_count + PL_COMPANIES, sizeof *groups->group);
    if (pl_p2p_agree(world, !groups->group)) {
        free(groups->group);
        groups->group = NULL;
        return false;
    }
    list(groups, plan);
    if (has_trials(plan))
        list_companies(groups);
    groups->group[0].world = *world;
    groups->group[0].comm = world->comm;
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
        int one = make(&groups->group[i], groups->world, comm, &comms[i]);
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
