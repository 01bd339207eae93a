/* Ranks between plans. */
#include "measure/idle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A message may arrive after its signal: so many short naps follow it. */
enum { SHORT_NAPS = 100 };
static const struct timespec unreached_nap = {.tv_nsec = 20000000}, long_nap = {.tv_sec = 1},
                             short_nap = {.tv_nsec = 200000};

/* A process where rank 0 can signal it: equal hosts and numbers of their processes. */
struct place {
    char host[64];
    long long numbers; /* which space of process numbers */
    long long process;
};

static struct place own_place(void)
{
    struct place place = {.process = getpid()};
    struct stat facts;
    gethostname(place.host, sizeof place.host - 1);
    if (stat("/proc/self/ns/pid", &facts) == 0)
        place.numbers = (long long)facts.st_ino;
    return place;
}

static sigset_t signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    return set;
}

void pl_idle_prepare(void)
{
    const sigset_t set = signals();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

bool pl_idle_open(struct pl_idle *idle, const struct pl_world *world)
{
    const size_t size = (size_t)world->size;
    const struct place own = own_place();
    struct place *places = world->rank == 0 ? calloc(size, sizeof *places) : NULL;
    idle->processes = calloc(size, sizeof *idle->processes);
    const bool lost = !idle->processes || (world->rank == 0 && !places);
    if (pl_p2p_agree(world, lost)) {
        free(places);
        return false;
    }
    pl_p2p_gather(world, &own, (int)sizeof own, places);
    for (size_t rank = 1; places && rank < size; rank++)
        if (strcmp(places[rank].host, own.host) == 0 && places[rank].numbers == own.numbers)
            idle->processes[rank] = (pid_t)places[rank].process;
    pl_p2p_broadcast(world, idle->processes, (int)(size * sizeof *idle->processes));
    idle->is_reached = idle->processes[world->rank] != 0;
    free(places);
    return true;
}

void pl_idle_close(struct pl_idle *idle)
{
    free(idle->processes);
}

/* A signal may also be that of the last time, whose message had come before. */
void pl_idle_wait(const struct pl_idle *idle, const struct pl_world *world)
{
    const sigset_t set = signals();
    int short_naps = 0;
    while (!pl_p2p_is_called(world, 0)) {
        const struct timespec *nap = short_naps > 0     ? &short_nap
                                     : idle->is_reached ? &long_nap
                                                        : &unreached_nap;
        const bool is_signal = sigtimedwait(&set, NULL, nap) == SIGURG;
        short_naps = is_signal ? SHORT_NAPS : short_naps - (short_naps > 0);
    }
}

void pl_idle_end(const struct pl_idle *idle, const struct pl_world *world, int first, int end)
{
    for (int rank = first; rank < end; rank++) {
        pl_p2p_wake(world, rank);
        if (idle->processes[rank] != 0)
            kill(idle->processes[rank], SIGURG);
    }
}
