#include "overlap/team.h"

#include "system/units.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LINE 128 /* two cache lines: processors fetch pairs */

struct member {
    _Alignas(LINE) struct pl_team *team;
    int number, unit;
    pthread_t thread;
    pthread_cond_t called;
    unsigned jobs; /* done or under way; under the team's mutex */
    struct pl_work work;
};

struct pl_team {
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
    while (me->jobs == done && !me->team->over)
        pthread_cond_wait(&me->called, &me->team->mutex);
    return !me->team->over;
}

static void *live(void *of)
{
    struct member *me = of;
    struct pl_team *team = me->team;
    /* Bound first: memory lies where it is touched. */
    bool good = (me->unit < 0 || pl_units_bind(me->unit)) &&
                pl_work_copy(&me->work, team->work, team->bytes);
    pthread_mutex_lock(&team->mutex);
    team->ready++;
    team->failed += !good;
    pthread_cond_signal(&team->changed);
    for (unsigned done = 0; called(me, done); done++) {
        if (++team->begun == team->wanted)
            pthread_cond_signal(&team->changed);
        pthread_mutex_unlock(&team->mutex);
        team->job(team->argument, me->number, &me->work);
        pthread_mutex_lock(&team->mutex);
        if (++team->done == team->wanted)
            pthread_cond_signal(&team->changed);
    }
    pthread_mutex_unlock(&team->mutex);
    pl_work_close(&me->work);
    return NULL;
}

static bool start_thread(struct pl_team *team, int number, int unit)
{
    struct member *member = &team->members[number];
    member->team = team;
    member->number = number;
    member->unit = unit;
    pthread_cond_init(&member->called, NULL);
    if (pthread_create(&member->thread, NULL, live, member) == 0)
        return true;
    pthread_cond_destroy(&member->called);
    return false;
}

struct pl_team *pl_team_open(int count, const int *units, const struct pl_work *work, size_t bytes)
{
    const size_t size = sizeof(struct pl_team) + (size_t)count * sizeof(struct member);
    struct pl_team *team = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
    if (!team)
        return NULL;
    memset(team, 0, size);
    team->work = work;
    team->bytes = bytes;
    atomic_init(&team->stop, false);
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->changed, NULL);
    while (team->count < count && start_thread(team, team->count, units[team->count]))
        team->count++;
    pthread_mutex_lock(&team->mutex);
    while (team->ready < team->count)
        pthread_cond_wait(&team->changed, &team->mutex);
    bool good = team->count == count && team->failed == 0;
    pthread_mutex_unlock(&team->mutex);
    if (good)
        return team;
    pl_team_close(team);
    return NULL;
}

void pl_team_close(struct pl_team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->mutex);
    team->over = true;
    for (int i = 0; i < team->count; i++)
        pthread_cond_signal(&team->members[i].called);
    pthread_mutex_unlock(&team->mutex);
    for (int i = 0; i < team->count; i++) {
        pthread_join(team->members[i].thread, NULL);
        pthread_cond_destroy(&team->members[i].called);
    }
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->mutex);
    free(team);
}

void pl_team_start(struct pl_team *team, int count, pl_job *job, const void *argument)
{
    atomic_store(&team->stop, false);
    pthread_mutex_lock(&team->mutex);
    team->wanted = count;
    team->begun = team->done = 0;
    team->job = job;
    team->argument = argument;
    for (int i = 0; i < count; i++) {
        team->members[i].jobs++;
        pthread_cond_signal(&team->members[i].called);
    }
    while (team->begun < count)
        pthread_cond_wait(&team->changed, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

void pl_team_wait(struct pl_team *team)
{
    pthread_mutex_lock(&team->mutex);
    while (team->done < team->wanted)
        pthread_cond_wait(&team->changed, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

void pl_team_stop(struct pl_team *team)
{
    atomic_store(&team->stop, true);
    pl_team_wait(team);
}

bool pl_team_stopped(const struct pl_team *team)
{
    return atomic_load_explicit(&team->stop, memory_order_relaxed);
}
