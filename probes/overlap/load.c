/* Blocking messages while other threads compute all the time: to and fro, half of it (the paper's
 * "N threads load"). In the part of communication the threads sleep; in that of computation both
 * ranks' threads do their work once, and no message is sent. */
#include "overlap/bench.h"
#include "overlap/thread_pool.h"

/* So long the rank's own thread is busy beside the others before it sends: one that has just woken
 * up is let in at once by the scheduler. */
enum { SETTLE_NS = 4000000 };

static void all_the_time(const void *of, int member, struct pl_work *work)
{
    const struct pl_exchange *exchange = of;
    (void)member;
    while (!pl_thread_pool_stopped(exchange->pool))
        pl_work_do(work, exchange->kernel, exchange->units);
}

static void once(const void *of, int member, struct pl_work *work)
{
    const struct pl_exchange *exchange = of;
    (void)member;
    pl_work_do(work, exchange->kernel, exchange->units);
}

static bool loaded(const struct pl_exchange *exchange)
{
    return exchange->part == PL_PART_BOTH && exchange->threads > 0;
}

static void begin_load(const struct pl_exchange *exchange)
{
    if (!loaded(exchange))
        return;
    pl_thread_pool_start(exchange->pool, exchange->threads, all_the_time, exchange);
    int64_t begin = exchange->clock->now_ns();
    while (exchange->clock->now_ns() - begin < SETTLE_NS)
        ;
}

static void end_load(const struct pl_exchange *exchange)
{
    if (loaded(exchange))
        pl_thread_pool_stop(exchange->pool);
}

static void receive(const struct pl_exchange *exchange)
{
    MPI_Recv(exchange->in, exchange->count, exchange->type, exchange->peer, PL_TAG_DATA,
             exchange->comm, MPI_STATUS_IGNORE);
}

/* Once untimed: what is timed is one message of a series. */
static int64_t active(const struct pl_exchange *exchange)
{
    int64_t begin = 0;
    begin_load(exchange);
    pl_await(exchange, PL_TAG_READY);
    for (int time = 0; time < 2; time++) {
        begin = exchange->clock->now_ns();
        pl_send(exchange, exchange->out, exchange->peer);
        receive(exchange);
    }
    int64_t ns = exchange->clock->now_ns() - begin;
    end_load(exchange);
    return ns;
}

static void passive(const struct pl_exchange *exchange)
{
    begin_load(exchange);
    pl_signal(exchange, PL_TAG_READY);
    for (int time = 0; time < 2; time++) {
        receive(exchange);
        pl_send(exchange, exchange->out, exchange->peer);
    }
    end_load(exchange);
}

/* Neither rank goes on before both are done. */
static int64_t computation(const struct pl_exchange *exchange)
{
    if (exchange->rank == 0)
        pl_await(exchange, PL_TAG_READY);
    else
        pl_signal(exchange, PL_TAG_READY);
    int64_t begin = exchange->clock->now_ns();
    if (exchange->threads > 0) {
        pl_thread_pool_start(exchange->pool, exchange->threads, once, exchange);
        pl_thread_pool_wait(exchange->pool);
    }
    int64_t ns = exchange->clock->now_ns() - begin;
    PMPI_Sendrecv(NULL, 0, MPI_BYTE, exchange->peer, PL_TAG_DONE, NULL, 0, MPI_BYTE, exchange->peer,
                  PL_TAG_DONE, exchange->comm, MPI_STATUS_IGNORE);
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
