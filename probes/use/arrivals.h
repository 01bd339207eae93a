/* Arrival patterns: by how much each rank comes to a call later than it could (`set arrival=`). */
#ifndef PL_ARRIVALS_H
#define PL_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

enum pl_arrivals_kind {
    PL_ARRIVALS_ONE,     /* one rank, another each time */
    PL_ARRIVALS_UNIFORM, /* every rank, by numbers drawn each time */
    PL_ARRIVALS_LIST,    /* every rank, always by the same */
};

struct pl_arrivals {
    enum pl_arrivals_kind kind;
    const char
        *text;     /* as the plan has it; NULL: one rank comes late by about what the call takes */
    int64_t ns;    /* the largest offset that there can be */
    int64_t *list; /* of a list: by rank */
    int count;
};

/* The offset of a rank among `size` in a repetition: a function of its arguments, so that every
 * rank knows it of all. `turn` counts repetitions, `apart_ns` is the largest offset. */
int64_t pl_arrivals_offset(const struct pl_arrivals *arrivals, int64_t apart_ns, uint64_t seed,
                           uint64_t turn, int rank, int size);

#endif
