#include "overlap/thread_pool.h"

#include "system/units.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LINE 128 /* two cache lines: processors fetch pairs */

struct member {
    _Alignas(LINE) struct pl_thread_pool *pool;
    int number, unit;
    pthread_t thread;
    pthread_cond_t called;
    unsigned jobs; /* done or under way; under the pool's mutex */
    struct pl_work work;
};

struct pl_thread_pool {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* for the rank's own thread, the only one that waits for it */
    int count, ready, failed;
    int wanted, begun, done; /* members: that the job is for, that have begun it and ended it */
    bool over;
    pl_job *job;
    const void *argument;
    const struct pl_work *work;
    size_t bytes;
    _Alignas(LINE) atomic_bool stop; /* read all the time, by all */
    struct member members[];
};

/* Under the mutex: waits for a job. False: there will be none. */
static bool called(struct member *me, unsigned done)
{
    while (me->jobs == done && !me->pool->over)
        pthread_cond_wait(&me->called, &me->pool->mutex);
    return !me->pool->over;
}

static void *live(void *of)
{
    struct member *me = of;
    struct pl_thread_pool *pool = me->pool;
    /* Bound first: memory lies where it is touched. */
    bool good = (me->unit < 0 || pl_units_bind(me->unit)) &&
                pl_work_copy(&me->work, pool->work, pool->bytes);
    pthread_mutex_lock(&pool->mutex);
    pool->ready++;
    pool->failed += !good;
    pthread_cond_signal(&pool->changed);
    for (unsigned done = 0; called(me, done); done++) {
        if (++pool->begun == pool->wanted)
            pthread_cond_signal(&pool->changed);
        pthread_mutex_unlock(&pool->mutex);
        pool->job(pool->argument, me->number, &me->work);
        pthread_mutex_lock(&pool->mutex);
        if (++pool->done == pool->wanted)
            pthread_cond_signal(&pool->changed);
    }
    pthread_mutex_unlock(&pool->mutex);
    pl_work_close(&me->work);
    return NULL;
}

static bool start_thread(struct pl_thread_pool *pool, int number, int unit)
{
    struct member *member = &pool->members[number];
    member->pool = pool;
    member->number = number;
    member->unit = unit;
    pthread_cond_init(&member->called, NULL);
    if (pthread_create(&member->thread, NULL, live, member) == 0)
        return true;
    pthread_cond_destroy(&member->called);
    return false;
}

struct pl_thread_pool *pl_thread_pool_open(int count, const int *units, const struct pl_work *work,
                                           size_t bytes)
{
    const size_t size = sizeof(struct pl_thread_pool) + (size_t)count * sizeof(struct member);
    struct pl_thread_pool *pool = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
    if (!pool)
        return NULL;
    memset(pool, 0, size);
    pool->work = work;
    pool->bytes = bytes;
    atomic_init(&pool->stop, false);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->changed, NULL);
    while (pool->count < count && start_thread(pool, pool->count, units[pool->count]))
        pool->count++;
    pthread_mutex_lock(&pool->mutex);
    while (pool->ready < pool->count)
        pthread_cond_wait(&pool->changed, &pool->mutex);
    bool good = pool->count == count && pool->failed == 0;
    pthread_mutex_unlock(&pool->mutex);
    if (good)
        return pool;
    pl_thread_pool_close(pool);
    return NULL;
}

void pl_thread_pool_close(struct pl_thread_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->over = true;
    for (int i = 0; i < pool->count; i++)
        pthread_cond_signal(&pool->members[i].called);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->count; i++) {
        pthread_join(pool->members[i].thread, NULL);
        pthread_cond_destroy(&pool->members[i].called);
    }
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

int pl_thread_pool_place(struct pl_thread_pool *pool, int member, struct pl_work **work)
{
    *work = &pool->members[member].work;
    return pool->members[member].unit;
}

void pl_thread_pool_start(struct pl_thread_pool *pool, int count, pl_job *job, const void *argument)
{
    atomic_store(&pool->stop, false);
    pthread_mutex_lock(&pool->mutex);
    pool->wanted = count;
    pool->begun = pool->done = 0;
    pool->job = job;
    pool->argument = argument;
    for (int i = 0; i < count; i++) {
        pool->members[i].jobs++;
        pthread_cond_signal(&pool->members[i].called);
    }
    while (pool->begun < count)
        pthread_cond_wait(&pool->changed, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void pl_thread_pool_wait(struct pl_thread_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (pool->done < pool->wanted)
        pthread_cond_wait(&pool->changed, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void pl_thread_pool_stop(struct pl_thread_pool *pool)
{
    atomic_store(&pool->stop, true);
    pl_thread_pool_wait(pool);
}

bool pl_thread_pool_stopped(const struct pl_thread_pool *pool)
{
    return atomic_load_explicit(&pool->stop, memory_order_relaxed);
}
