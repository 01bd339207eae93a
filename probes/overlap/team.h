/* Threads of a rank beside its own, which do a job when they are told to. Without one they sleep on
 * a condition variable and use no processor. What they share is under a mutex, or atomic; what they
 * work on is each thread's own. */
#ifndef PL_TEAM_H
#define PL_TEAM_H

#include "overlap/work.h"

struct pl_team;

/* `member`: a number from 0 on; `work` is its own. */
typedef void pl_job(const void *argument, int member, struct pl_work *work);

/* `count` threads, asleep; thread i is bound to the processing unit units[i] (-1: it may run where
 * the caller may) and has a copy of `work` with an area of `bytes`. NULL: a thread could not be
 * started or bound, or memory is out. */
struct pl_team *pl_team_open(int count, const int *units, const struct pl_work *work, size_t bytes);
void pl_team_close(struct pl_team *team);

/* The first `count` threads begin the job; returns when all of them have. */
void pl_team_start(struct pl_team *team, int count, pl_job *job, const void *argument);
/* Until those that have begun are at the end of their job. */
void pl_team_wait(struct pl_team *team);
/* The same, for a job without an end: it ends where pl_team_stopped. */
void pl_team_stop(struct pl_team *team);
bool pl_team_stopped(const struct pl_team *team);

#endif
