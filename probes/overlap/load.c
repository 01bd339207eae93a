/* Blocking messages while other threads compute all the time: to and fro, half of it (the paper's
 * "N threads load"). In the part of communication the threads sleep; in that of computation both
 * ranks' threads do the work of the round once, and no message is sent. */
#include "overlap/bench.h"
#include "overlap/team.h"

/* So long the rank's own thread is busy beside the others before it sends: one that has just woken
 * up is let in at once by the scheduler. */
enum { SETTLE_NS = 4000000 };

static void all_the_time(const void *of, int member, struct pl_work *work)
{
    const struct pl_round *round = of;
    (void)member;
    while (!pl_team_stopped(round->team))
        pl_work_do(work, round->kernel, round->units);
}

static void once(const void *of, int member, struct pl_work *work)
{
    const struct pl_round *round = of;
    (void)member;
    pl_work_do(work, round->kernel, round->units);
}

static bool loaded(const struct pl_round *round)
{
    return round->part == PL_PART_BOTH && round->threads > 0;
}

static void begin_load(const struct pl_round *round)
{
    if (!loaded(round))
        return;
    pl_team_start(round->team, round->threads, all_the_time, round);
    int64_t begin = round->clock->now_ns();
    while (round->clock->now_ns() - begin < SETTLE_NS)
        ;
}

static void end_load(const struct pl_round *round)
{
    if (loaded(round))
        pl_team_stop(round->team);
}

static void receive(const struct pl_round *round)
{
    MPI_Recv(round->in, round->count, round->type, round->peer, PL_TAG_DATA, round->comm,
             MPI_STATUS_IGNORE);
}

/* Once untimed: what is timed is one message of a series. */
static int64_t active(const struct pl_round *round)
{
    int64_t begin = 0;
    begin_load(round);
    pl_await(round, PL_TAG_READY);
    for (int time = 0; time < 2; time++) {
        begin = round->clock->now_ns();
        pl_send(round, round->out, round->peer);
        receive(round);
    }
    int64_t ns = round->clock->now_ns() - begin;
    end_load(round);
    return ns;
}

static void passive(const struct pl_round *round)
{
    begin_load(round);
    pl_signal(round, PL_TAG_READY);
    for (int time = 0; time < 2; time++) {
        receive(round);
        pl_send(round, round->out, round->peer);
    }
    end_load(round);
}

/* Neither rank goes on before both are done. */
static int64_t computation(const struct pl_round *round)
{
    if (round->rank == 0)
        pl_await(round, PL_TAG_READY);
    else
        pl_signal(round, PL_TAG_READY);
    int64_t begin = round->clock->now_ns();
    if (round->threads > 0) {
        pl_team_start(round->team, round->threads, once, round);
        pl_team_wait(round->team);
    }
    int64_t ns = round->clock->now_ns() - begin;
    PMPI_Sendrecv(NULL, 0, MPI_BYTE, round->peer, PL_TAG_DONE, NULL, 0, MPI_BYTE, round->peer,
                  PL_TAG_DONE, round->comm, MPI_STATUS_IGNORE);
    return ns;
}

const struct pl_bench pl_overlap_load = {
    .name = "load",
    .summary = "a message to and one fro while threads compute all the time; half of it",
    .halves = 2,
    .to_active = true,
    .to_passive = true,
    .level = MPI_THREAD_FUNNELED,
    .threads = true,
    .active = active,
    .passive = passive,
    .computation = computation,
};
