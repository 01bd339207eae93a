/* Events of the processor, counted by PAPI where it is compiled in. Where no PMU can be used, as in
 * most virtual machines, the kernel's events that PAPI knows take their place. */
#ifndef PL_EVENTS_H
#define PL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PL_EVENTS_PMU = 5, PL_EVENTS_MAX = 7 };
extern const char *const pl_event_names[PL_EVENTS_MAX];

struct pl_events;

/* Counting begins. NULL, and why. */
struct pl_events *pl_events_open(char *missing, size_t size);
void pl_events_close(struct pl_events *events);
bool pl_events_counted(const struct pl_events *events, int event);
/* Fills the values of the events that are counted; others are not touched. */
void pl_events_read(struct pl_events *events, int64_t values[PL_EVENTS_MAX]);

#endif
