#include "measure/counters.h"

#include "measure/events.h"
#include "simulated.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(PL_COUNTERS == PL_COUNTER_EVENTS + PL_EVENTS_MAX, "a place for every event");

static const char sched_path[] = "/proc/self/sched";

const char *pl_counter_name(int counter)
{
    static const char *const names[] = {"voluntary_switches", "involuntary_switches", "migrations"};
    return counter < PL_COUNTER_EVENTS ? names[counter]
                                       : pl_event_names[counter - PL_COUNTER_EVENTS];
}

/* Migrations of this thread so far; -1: the kernel does not say. */
static int64_t migrations_in_sched(void)
{
    char line[256];
    long long migrations = -1;
    FILE *file = fopen(sched_path, "re");
    if (!file)
        return -1;
    while (migrations < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "se.nr_migrations : %lld", &migrations) != 1)
            migrations = -1;
    fclose(file);
    return migrations;
}

/* The kernel counts a migration on its own account: user space alone would see none of them. */
static int open_migrations(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_CPU_MIGRATIONS};
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void pl_counters_open(struct pl_counters *counters, const struct pl_world *world)
{
    int64_t lacking[PL_COUNTERS] = {0};

    memset(counters, 0, sizeof *counters);
    counters->migrations_file = -1;
    if (PL_SIMULATED)
        return;
    counters->migrations_file = open_migrations();
    int error = errno;
    if (counters->migrations_file < 0) {
        counters->migrations_in_sched = migrations_in_sched() >= 0;
        if (!counters->migrations_in_sched)
            snprintf(counters->migrations_missing, sizeof counters->migrations_missing,
                     "perf_event_open: %s (kernel.perf_event_paranoid may be above 1); %s has no "
                     "se.nr_migrations",
                     strerror(error), sched_path);
    }
    counters->events = pl_events_open(counters->events_missing, sizeof counters->events_missing);

    lacking[PL_COUNTER_MIGRATIONS] =
        counters->migrations_file < 0 && !counters->migrations_in_sched;
    for (int i = 0; i < PL_EVENTS_MAX; i++)
        lacking[PL_COUNTER_EVENTS + i] = !pl_events_counted(counters->events, i);
    pl_p2p_maximum(world, lacking, PL_COUNTERS);
    pl_p2p_broadcast(world, lacking, (int)sizeof lacking);
    for (int i = 0; i < PL_COUNTERS; i++)
        counters->counted[i] = !lacking[i];
}

void pl_counters_close(struct pl_counters *counters)
{
    if (counters->migrations_file >= 0)
        close(counters->migrations_file);
    counters->migrations_file = -1;
    pl_events_close(counters->events);
    counters->events = NULL;
}

static void read_all(const struct pl_counters *counters, int64_t *values)
{
    struct rusage usage;
    memset(values, 0, PL_COUNTERS * sizeof *values);
    pl_events_read(counters->events, values + PL_COUNTER_EVENTS);
    if (counters->migrations_in_sched)
        values[PL_COUNTER_MIGRATIONS] = migrations_in_sched();
    else if (counters->migrations_file >= 0 &&
             read(counters->migrations_file, &values[PL_COUNTER_MIGRATIONS], sizeof *values) < 0)
        values[PL_COUNTER_MIGRATIONS] = 0;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        values[PL_COUNTER_VOLUNTARY] = usage.ru_nvcsw;
        values[PL_COUNTER_INVOLUNTARY] = usage.ru_nivcsw;
    }
}

void pl_counters_start(struct pl_counters *counters)
{
    read_all(counters, counters->at);
}

void pl_counters_next(struct pl_counters *counters, const struct pl_world *world)
{
    int64_t now[PL_COUNTERS];
    read_all(counters, now);
    for (int i = 0; i < PL_COUNTERS; i++) {
        counters->values[i] = now[i] - counters->at[i];
        counters->at[i] = now[i];
    }
    pl_p2p_sum(world, counters->values, PL_COUNTERS);
}

void pl_counters_migrations(const struct pl_counters *counters, char *text, size_t size,
                            char *missing, size_t missing_size)
{
    snprintf(text, size, "%s",
             counters->migrations_file >= 0  ? "perf_event_open"
             : counters->migrations_in_sched ? sched_path
                                             : "");
    snprintf(missing, missing_size, "%s", counters->migrations_missing);
}

void pl_counters_hardware(const struct pl_counters *counters, char *text, size_t size,
                          char *missing, size_t missing_size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < PL_EVENTS_MAX && used < size; i++)
        if (pl_events_counted(counters->events, i))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     pl_event_names[i]);
    snprintf(missing, missing_size, "%s", counters->events_missing);
}
