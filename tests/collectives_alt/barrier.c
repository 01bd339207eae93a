#include "barrier.h"

#include <stdatomic.h>
#include <unistd.h>

enum { LATE_MICROSECONDS = 800, STEP_MICROSECONDS = 100 };

/* Of each rank of MPI_COMM_WORLD: the last round it has entered and left. */
struct marks {
    _Atomic long entered, left;
};

static MPI_Win window;
static struct marks *marks;
static long last_round;

void barrier_prepare(void)
{
    MPI_Comm node;
    int rank, p, unit;
    MPI_Aint bytes;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &p);
    MPI_Win_allocate_shared(rank ? 0 : RANKS_MAX * (MPI_Aint)sizeof *marks, 1, MPI_INFO_NULL, node,
                            &marks, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &marks);
    for (int i = 0; i < RANKS_MAX && rank == 0; i++) {
        atomic_init(&marks[i].entered, 0);
        atomic_init(&marks[i].left, 0);
    }
    MPI_Comm_free(&node);
    PMPI_Barrier(MPI_COMM_WORLD);
}

void barrier_finish(void)
{
    MPI_Win_free(&window);
}

static void world_ranks(MPI_Comm comm, int p, int *ranks)
{
    int own[RANKS_MAX];
    MPI_Group group, world;
    for (int i = 0; i < p; i++)
        own[i] = i;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, p, own, world, ranks);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static bool somebody_left(const int *ranks, int p, long round)
{
    for (int i = 0; i < p; i++)
        if (atomic_load(&marks[ranks[i]].left) >= round)
            return true;
    return false;
}

const char *barrier_check(const struct pl_spec *spec, const struct setting *s)
{
    int p, rank, ranks[RANKS_MAX];
    const char *wrong = NULL;
    MPI_Comm_size(s->comm, &p);
    MPI_Comm_rank(s->comm, &rank);
    world_ranks(s->comm, p, ranks);
    const struct pl_call call = {.function = PL_FN_barrier, .comm = s->comm};
    /* A round is a number that grows on every rank and is equal on those of a communicator. */
    const int me = ranks[rank];
    long round = last_round + 1;
    PMPI_Allreduce(MPI_IN_PLACE, &round, 1, MPI_LONG, MPI_MAX, s->comm);
    last_round = round;

    if (rank == s->root)
        for (int waited = 0; waited < LATE_MICROSECONDS && !wrong; waited += STEP_MICROSECONDS) {
            usleep(STEP_MICROSECONDS);
            if (somebody_left(ranks, p, round))
                wrong = "somebody left before the last rank entered";
        }
    atomic_store(&marks[me].entered, round);
    if (pl_spec_run(spec, &call) != MPI_SUCCESS)
        wrong = "error";
    for (int i = 0; i < p; i++)
        if (atomic_load(&marks[ranks[i]].entered) < round)
            wrong = "left before everybody had entered";
    atomic_store(&marks[me].left, round);
    return wrong;
}
