#include "measure/events.h"

#include "system/papi.h"

#include <stdio.h>
#include <stdlib.h>

const char *const pl_event_names[PL_EVENTS_MAX] = {
    "PAPI_TOT_CYC", "PAPI_TOT_INS",     "PAPI_L2_TCM",      "PAPI_L3_TCM",
    "PAPI_TLB_DM",  "perf::TASK-CLOCK", "perf::PAGE-FAULTS"};

#ifdef PL_PAPI
struct pl_events {
    int set;
    int count;
    int place[PL_EVENTS_MAX]; /* in the event set; -1: not counted */
};

/* Why the component that counts events of the processor does not. */
static void no_component(char *missing, size_t size, const char *otherwise)
{
    int index = pl_papi.get_component_index("perf_event");
    const PAPI_component_info_t *component = index >= 0 ? pl_papi.get_component_info(index) : NULL;
    if (component && component->disabled)
        snprintf(missing, size, "no PMU: PAPI's perf_event component is disabled: %s",
                 component->disabled_reason);
    else
        snprintf(missing, size, "no PMU: %s", otherwise);
}

struct pl_events *pl_events_open(char *missing, size_t size)
{
    int set = PAPI_NULL, count = 0, error = PAPI_OK;
    int wanted = PAPI_VER_CURRENT;
    const char *absent = pl_papi_open();
    if (absent) {
        snprintf(missing, size, "PAPI: %s", absent);
        return NULL;
    }
    int version = pl_papi.is_initialized() ? wanted : pl_papi.library_init(wanted);
    missing[0] = '\0';
    if (version != wanted) {
        snprintf(missing, size, "PAPI_library_init: %s",
                 version > 0 ? "the library is of another version than at build"
                             : pl_papi.strerror(version));
        return NULL;
    }
    struct pl_events *events = calloc(1, sizeof *events);
    if (!events || pl_papi.create_eventset(&set) != PAPI_OK) {
        snprintf(missing, size, "out of memory");
        free(events);
        return NULL;
    }
    for (int i = 0; i < PL_EVENTS_MAX; i++) {
        events->place[i] = -1;
        if (i >= PL_EVENTS_PMU && events->place[0] >= 0)
            continue; /* cycles are counted: there is a PMU */
        int rc = pl_papi.add_named_event(set, pl_event_names[i]);
        events->place[i] = rc == PAPI_OK ? count++ : -1;
        if (rc != PAPI_OK)
            error = rc;
    }
    if (count > 0 && (error = pl_papi.start(set)) == PAPI_OK) {
        events->set = set;
        events->count = count;
        return events;
    }
    no_component(missing, size, pl_papi.strerror(error));
    pl_papi.cleanup_eventset(set);
    pl_papi.destroy_eventset(&set);
    free(events);
    return NULL;
}

void pl_events_close(struct pl_events *events)
{
    long long last[PL_EVENTS_MAX];
    if (!events)
        return;
    pl_papi.stop(events->set, last);
    pl_papi.cleanup_eventset(events->set);
    pl_papi.destroy_eventset(&events->set);
    free(events);
}

bool pl_events_counted(const struct pl_events *events, int event)
{
    return events && events->place[event] >= 0;
}

void pl_events_read(struct pl_events *events, int64_t values[PL_EVENTS_MAX])
{
    long long now[PL_EVENTS_MAX] = {0};
    if (!events || pl_papi.read(events->set, now) != PAPI_OK)
        return;
    for (int i = 0; i < PL_EVENTS_MAX; i++)
        if (events->place[i] >= 0)
            values[i] = now[events->place[i]];
}

#else

struct pl_events *pl_events_open(char *missing, size_t size)
{
    snprintf(missing, size, "the probe was built without PAPI");
    return NULL;
}

void pl_events_close(struct pl_events *events)
{
    (void)events;
}

bool pl_events_counted(const struct pl_events *events, int event)
{
    (void)events;
    (void)event;
    return false;
}

void pl_events_read(struct pl_events *events, int64_t values[PL_EVENTS_MAX])
{
    (void)events;
    (void)values;
}

#endif
