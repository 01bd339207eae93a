/* Classes of messages that may go round in phases (detect/provenance.py). */
#ifndef PL_DETECTION_PHASES_H
#define PL_DETECTION_PHASES_H

#include "store.h"
#include "traffic.h"

#include <stdbool.h>

/* What good phases are: trees into which each rank but the root sends once; those after which
 * everybody knows everything, and where who knows the same sends the same; those with ever smaller
 * parts; those after which everybody knows everything. */
enum pl_way { PL_TREE, PL_WHOLE, PL_HALVING, PL_BARRIER };

/* Messages of a group in the order of their sends; `points`: their sends (place in `messages`) and
 * receives (`count` more), in causal order. */
struct pl_class {
    const struct pl_traffic *traffic;
    const int64_t *messages, *points;
    int64_t count;
    const int64_t *group;
    int64_t size;
};

/* How many messages of a class of so many are looked at first. */
int64_t pl_looked_at_first(int64_t count, int64_t size, enum pl_way way);
/* Whether a class may be explained by good phases, from what is looked at first; the class needs
 * one message more, if there is one. */
bool pl_begins_well(struct pl_store *store, const struct pl_class *given, enum pl_way way);

#endif
