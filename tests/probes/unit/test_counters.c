/* Counters against what this program makes happen: sleeps, and moves between processors. */
#include "check.h"

#include "measure/counters.h"
#include "measure/events.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 20 };

/* Moves between the first two processors that are allowed; false where there is only one. */
static bool move_often(void)
{
    cpu_set_t allowed;
    int processor[2], found = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
        if (CPU_ISSET(i, &allowed))
            processor[found++] = i;
    for (int i = 0; i < TIMES && found == 2; i++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor[i % 2], &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
    return found == 2;
}

/* The context switches of the first thread, as /proc says them. */
static long long switches_in_status(const char *key)
{
    char line[256];
    long long value = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = atoll(line + strlen(key));
    if (file)
        fclose(file);
    return value;
}

/* Sleeps until the kernel has counted TIMES voluntary switches; returns how many it counted. One
 * sleep is not always one switch: a timer that fires before the thread is off the processor ends
 * the sleep without one. */
static long long sleep_often(void)
{
    const struct timespec some = {.tv_nsec = 100000};
    long long before = switches_in_status("voluntary_ctxt_switches:"), seen = 0;
    for (int i = 0; seen < TIMES && i < 100 * TIMES; i++) {
        nanosleep(&some, NULL);
        seen = switches_in_status("voluntary_ctxt_switches:") - before;
    }
    return seen;
}

int main(void)
{
    struct pl_world alone = {.rank = 0, .size = 1};
    struct pl_counters counters;
    char text[256], missing[256];

    pl_counters_open(&counters, &alone);
    CHECK(counters.counted[PL_COUNTER_VOLUNTARY] && counters.counted[PL_COUNTER_INVOLUNTARY]);

    long long before = switches_in_status("voluntary_ctxt_switches:");
    pl_counters_start(&counters);
    long long slept = sleep_often();
    pl_counters_next(&counters, &alone);
    long long after = switches_in_status("voluntary_ctxt_switches:");
    CHECK(slept >= TIMES);
    CHECK(counters.values[PL_COUNTER_VOLUNTARY] >= slept);
    CHECK(counters.values[PL_COUNTER_VOLUNTARY] <= after - before);

    pl_counters_start(&counters);
    bool moved = move_often();
    pl_counters_next(&counters, &alone);
    if (moved && counters.counted[PL_COUNTER_MIGRATIONS])
        CHECK(counters.values[PL_COUNTER_MIGRATIONS] >= TIMES - 1);

    pl_counters_migrations(&counters, text, sizeof text, missing, sizeof missing);
    CHECK((text[0] == '\0') != (missing[0] == '\0'));
    CHECK((text[0] != '\0') == counters.counted[PL_COUNTER_MIGRATIONS]);

    /* Where there is none, the kernel's events take its place, as far as PAPI may count them. */
    const int faults = PL_COUNTER_EVENTS + PL_EVENTS_PMU + 1;
    CHECK(!counters.counted[PL_COUNTER_EVENTS] || !counters.counted[faults]);
    if (counters.counted[faults]) {
        const size_t pages = 512, page = (size_t)sysconf(_SC_PAGESIZE);
        pl_counters_start(&counters);
        char *fresh =
            mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(fresh, pages * page, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < pages; i++)
            fresh[i * page] = 1;
        pl_counters_next(&counters, &alone);
        munmap(fresh, pages * page);
        CHECK(counters.values[faults] >= (long long)pages);
        CHECK(counters.values[faults - 1] > 0); /* nanoseconds of processor time */
    }

    /* Where there is a PMU, a loop of known length shows in the instructions. */
    pl_counters_hardware(&counters, text, sizeof text, missing, sizeof missing);
    CHECK((text[0] == '\0') != (missing[0] == '\0'));
    if (counters.counted[PL_COUNTER_EVENTS + 1]) {
        pl_counters_start(&counters);
        for (volatile int i = 0; i < 1000000; i++)
            ;
        pl_counters_next(&counters, &alone);
        CHECK(counters.values[PL_COUNTER_EVENTS + 1] >= 1000000);
    }

    CHECK(strcmp(pl_counter_name(PL_COUNTER_VOLUNTARY), "voluntary_switches") == 0);
    CHECK(strcmp(pl_counter_name(PL_COUNTER_MIGRATIONS), "migrations") == 0);
    CHECK(strncmp(pl_counter_name(PL_COUNTER_EVENTS), "PAPI_", 5) == 0);
    pl_counters_close(&counters);
    return check_done();
}
