/* Items cut where messages cut them (detect/provenance.py), a column each. */
#ifndef PL_DETECTION_ATOMS_H
#define PL_DETECTION_ATOMS_H

#include "traffic.h"

struct pl_atoms {
    const int64_t *item, *origin, *low, *high, *address, *group, *keepers, *keeper;
    struct pl_rows messages; /* by atom, in causal order */
    struct pl_rows groups;   /* ranks of each group, in order */
};

/* Where an atom lies at the rank that got it with a message. */
static inline int64_t pl_arrival(const struct pl_traffic *traffic, const struct pl_parts *parts,
                                 const struct pl_atoms *atoms, int64_t atom, int64_t message)
{
    int64_t offset = 0;
    for (int64_t i = 0; i < parts->count[message]; i++) {
        const int64_t *part = parts->at + 3 * (parts->first[message] + i);
        if (part[0] == atoms->item[atom] && part[1] <= atoms->low[atom] &&
            atoms->low[atom] < part[2])
            return traffic->to_address[message] + offset + atoms->low[atom] - part[1];
        offset += part[2] - part[1];
    }
    return traffic->to_address[message];
}

/* The last message of an atom that goes to a rank. */
static inline int64_t pl_last_to(const struct pl_traffic *traffic, const struct pl_atoms *atoms,
                                 int64_t atom, int64_t rank)
{
    int64_t at = atoms->messages.first[atom + 1] - 1;
    while (at > atoms->messages.first[atom] && traffic->target[atoms->messages.at[at]] != rank)
        at--;
    return atoms->messages.at[at];
}

#endif
