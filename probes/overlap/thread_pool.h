/* Threads of a rank beside its own, which do a job when they are told to. Without one they sleep on
 * a condition variable and use no processor. What they share is under a mutex, or atomic; what they
 * work on is each thread's own. */
#ifndef PL_THREAD_POOL_H
#define PL_THREAD_POOL_H

#include "overlap/work.h"

struct pl_thread_pool;

/* `member`: a number from 0 on; `work` is its own. */
typedef void pl_job(const void *argument, int member, struct pl_work *work);

/* `count` threads, asleep; thread i is bound to the processing unit units[i] (-1: it may run where
 * the caller may) and has a copy of `work` with an area of `bytes`. NULL: a thread could not be
 * started or bound, or memory is out. */
struct pl_thread_pool *pl_thread_pool_open(int count, const int *units, const struct pl_work *work,
                                           size_t bytes);
void pl_thread_pool_close(struct pl_thread_pool *pool);

/* The unit that thread `member` is bound to (-1: none), and its work, for a thread of another team
 * that stands in for it while it sleeps. */
int pl_thread_pool_place(struct pl_thread_pool *pool, int member, struct pl_work **work);

/* The first `count` threads begin the job; returns when all of them have. */
void pl_thread_pool_start(struct pl_thread_pool *pool, int count, pl_job *job,
                          const void *argument);
/* Until those that have begun are at the end of their job. */
void pl_thread_pool_wait(struct pl_thread_pool *pool);
/* The same, for a job without an end: it ends where pl_thread_pool_stopped. */
void pl_thread_pool_stop(struct pl_thread_pool *pool);
bool pl_thread_pool_stopped(const struct pl_thread_pool *pool);

#endif
