/* As sender, by several threads at the same time: each has a message of its own, with a tag of its
 * own, computes beside it and waits for it. Until all messages have come. */
#include "overlap/bench.h"
#include "overlap/team.h"

#include <sched.h>
#include <stdatomic.h>

/* All threads are awake before the first one begins. */
struct turn {
    const struct pl_round *round;
    atomic_bool go;
};

static int tag(int member)
{
    return PL_TAG_DONE + 1 + member;
}

static const struct pl_round *begin(const struct turn *turn)
{
    while (!atomic_load_explicit(&turn->go, memory_order_acquire))
        sched_yield();
    return turn->round;
}

/* A thread's share of the part. */
static void send(const void *of, int member, struct pl_work *work)
{
    const struct pl_round *round = begin(of);
    struct pl_round own = *round;
    MPI_Request request = MPI_REQUEST_NULL;
    const char *message = round->out + (size_t)member * round->extent;
    own.work = work;
    switch (round->part) {
    case PL_PART_COMMUNICATION:
        MPI_Send(message, round->count, round->type, round->peer, tag(member), round->comm);
        break;
    case PL_PART_BOTH:
        MPI_Isend(message, round->count, round->type, round->peer, tag(member), round->comm,
                  &request);
        pl_compute(&own, &request, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        pl_compute(&own, NULL, 0);
    }
}

static void post(const void *of, int member, struct pl_work *work)
{
    const struct pl_round *round = of;
    (void)work;
    MPI_Irecv(round->in + (size_t)member * round->extent, round->count, round->type, round->peer,
              tag(member), round->comm, &round->pending[member]);
}

static void complete(const void *of, int member, struct pl_work *work)
{
    const struct pl_round *round = of;
    (void)work;
    MPI_Wait(&round->pending[member], MPI_STATUS_IGNORE);
}

static void all(const struct pl_round *round, pl_job *job)
{
    pl_team_start(round->team, round->threads, job, round);
    pl_team_wait(round->team);
}

static int64_t active(const struct pl_round *round)
{
    const bool messages = round->part != PL_PART_COMPUTATION;
    struct turn turn = {.round = round};
    atomic_init(&turn.go, false);
    if (messages)
        pl_await(round, PL_TAG_READY);
    pl_team_start(round->team, round->threads, send, &turn);
    int64_t begin_ns = round->clock->now_ns();
    atomic_store_explicit(&turn.go, true, memory_order_release);
    pl_team_wait(round->team);
    if (messages)
        pl_await(round, PL_TAG_DONE);
    return round->clock->now_ns() - begin_ns;
}

static void passive(const struct pl_round *round)
{
    all(round, post);
    pl_signal(round, PL_TAG_READY);
    all(round, complete);
    pl_signal(round, PL_TAG_DONE);
}

/* The passive side sleeps in one call until the threads of the other are done. */
static int64_t computation(const struct pl_round *round)
{
    if (round->rank > 0) {
        pl_await(round, PL_TAG_DONE);
        return 0;
    }
    int64_t ns = active(round);
    pl_signal(round, PL_TAG_DONE);
    return ns;
}

const struct pl_bench pl_overlap_multiple = {
    .name = "multiple",
    .summary = "as sender, by several threads, each with a message of its own",
    .latencies = 1,
    .halves = 1,
    .to_passive = true,
    .level = MPI_THREAD_MULTIPLE,
    .threads = true,
    .active = active,
    .passive = passive,
    .computation = computation,
};
