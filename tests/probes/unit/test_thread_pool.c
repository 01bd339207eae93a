/* Threads that wait for jobs: who does them, where, when they end, and what they cost asleep. */
#include "check.h"

#include "overlap/thread_pool.h"
#include "system/units.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { COUNT = 3 };

struct count {
    struct pl_thread_pool *pool;
    atomic_int calls[COUNT];
    int64_t sum[COUNT]; /* of each thread's own, read after it is done */
    int unit[COUNT];
};

static void once(const void *of, int member, struct pl_work *work)
{
    struct count *count = *(struct count *const *)of;
    atomic_fetch_add(&count->calls[member], 1);
    count->sum[member] += member + 1;
    count->unit[member] = sched_getcpu();
    pl_work_do(work, PL_KERNEL_REGISTERS, 1000);
    if (work->area)
        pl_work_do(work, PL_KERNEL_MEMORY, 100);
}

static void until_stopped(const void *of, int member, struct pl_work *work)
{
    struct count *count = *(struct count *const *)of;
    while (!pl_thread_pool_stopped(count->pool))
        once(of, member, work);
}

static int calls(struct count *count, int member)
{
    return atomic_load(&count->calls[member]);
}

static int64_t processor_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void check_jobs(struct pl_thread_pool *pool, int unit)
{
    struct count count = {.pool = pool}, *of = &count;
    for (int time = 0; time < 100; time++) {
        pl_thread_pool_start(pool, COUNT, once, &of);
        pl_thread_pool_wait(pool);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(calls(of, i) == 100 && count.sum[i] == 100 * (i + 1));
        CHECK(count.unit[i] == unit);
    }
    pl_thread_pool_start(pool, 1, once, &of);
    pl_thread_pool_wait(pool);
    CHECK(calls(of, 0) == 101 && calls(of, 1) == 100 && calls(of, 2) == 100);
    for (int time = 0; time < 3; time++) {
        pl_thread_pool_start(pool, 2, until_stopped, &of);
        while (calls(of, 0) < 102 + time || calls(of, 1) < 101 + time)
            sched_yield();
        pl_thread_pool_stop(pool);
    }
    CHECK(calls(of, 2) == 100);
    int last = calls(of, 0);
    int64_t begin = processor_ns();
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    CHECK(calls(of, 0) == last);
    CHECK(processor_ns() - begin < 20000000);
}

int main(void)
{
    uint64_t area[64] = {0};
    const struct pl_work plain = {0}, memory = {.area = area, .words = 64};
    struct pl_units allowed;
    int first = 0;
    CHECK(pl_units_allowed(&allowed));
    while (!pl_units_has(&allowed, first))
        first++;
    const int units[COUNT] = {first, first, first};
    const int nowhere[COUNT] = {first, first, 1 << 20};
    struct pl_thread_pool *pool = pl_thread_pool_open(COUNT, units, &plain, 0);
    if (CHECK(pool != NULL))
        check_jobs(pool, first);
    pl_thread_pool_close(pool);
    pool = pl_thread_pool_open(COUNT, units, &memory, 4096);
    if (CHECK(pool != NULL))
        check_jobs(pool, first);
    pl_thread_pool_close(pool);
    CHECK(pl_thread_pool_open(COUNT, nowhere, &plain, 0) == NULL);
    return check_done();
}
