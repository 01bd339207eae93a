/* As sender, by several threads at the same time: each has a message of its own, with a tag of its
 * own, computes beside it and waits for it. Until all messages have come. */
#include "overlap/bench.h"
#include "overlap/thread_pool.h"

#include <sched.h>
#include <stdatomic.h>

/* All threads are awake before the first one begins. */
struct turn {
    const struct pl_exchange *exchange;
    atomic_bool go;
};

static int tag(int member)
{
    return PL_TAG_DONE + 1 + member;
}

static const struct pl_exchange *begin(const struct turn *turn)
{
    while (!atomic_load_explicit(&turn->go, memory_order_acquire))
        sched_yield();
    return turn->exchange;
}

/* A thread's share of the part. */
static void send(const void *of, int member, struct pl_work *work)
{
    const struct pl_exchange *exchange = begin(of);
    struct pl_exchange own = *exchange;
    MPI_Request request = MPI_REQUEST_NULL;
    const char *message = exchange->out + (size_t)member * exchange->extent;
    own.work = work;
    switch (exchange->part) {
    case PL_PART_COMMUNICATION:
        MPI_Send(message, exchange->count, exchange->type, exchange->peer, tag(member),
                 exchange->comm);
        break;
    case PL_PART_BOTH:
        MPI_Isend(message, exchange->count, exchange->type, exchange->peer, tag(member),
                  exchange->comm, &request);
        pl_compute(&own, &request, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        pl_compute(&own, NULL, 0);
    }
}

static void post(const void *of, int member, struct pl_work *work)
{
    const struct pl_exchange *exchange = of;
    (void)work;
    MPI_Irecv(exchange->in + (size_t)member * exchange->extent, exchange->count, exchange->type,
              exchange->peer, tag(member), exchange->comm, &exchange->pending[member]);
}

static void complete(const void *of, int member, struct pl_work *work)
{
    const struct pl_exchange *exchange = of;
    (void)work;
    MPI_Wait(&exchange->pending[member], MPI_STATUS_IGNORE);
}

static void all(const struct pl_exchange *exchange, pl_job *job)
{
    pl_thread_pool_start(exchange->pool, exchange->threads, job, exchange);
    pl_thread_pool_wait(exchange->pool);
}

static int64_t active(const struct pl_exchange *exchange)
{
    const bool messages = exchange->part != PL_PART_COMPUTATION;
    struct turn turn = {.exchange = exchange};
    atomic_init(&turn.go, false);
    if (messages)
        pl_await(exchange, PL_TAG_READY);
    pl_thread_pool_start(exchange->pool, exchange->threads, send, &turn);
    int64_t begin_ns = exchange->clock->now_ns();
    atomic_store_explicit(&turn.go, true, memory_order_release);
    pl_thread_pool_wait(exchange->pool);
    if (messages)
        pl_await(exchange, PL_TAG_DONE);
    return exchange->clock->now_ns() - begin_ns;
}

static void passive(const struct pl_exchange *exchange)
{
    all(exchange, post);
    pl_signal(exchange, PL_TAG_READY);
    all(exchange, complete);
    pl_signal(exchange, PL_TAG_DONE);
}

/* The passive side sleeps in one call until the threads of the other are done. */
static int64_t computation(const struct pl_exchange *exchange)
{
    if (exchange->rank > 0) {
        pl_await(exchange, PL_TAG_DONE);
        return 0;
    }
    int64_t ns = active(exchange);
    pl_signal(exchange, PL_TAG_DONE);
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
