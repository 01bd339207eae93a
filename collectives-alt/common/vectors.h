/* The vector of a reduction: ranges of it, cuts into ranges, and the operation on them. */
#ifndef PL_VECTORS_H
#define PL_VECTORS_H

#include "tools.h"

struct pl_range {
    int first, count;
};

/* n elements cut into ranges that follow one another. Without `first` (ranges + 1 places) they are
 * as equal as can be: those at the front are longer by one. */
struct pl_cut {
    int n, ranges;
    const int *first;
};

struct pl_range pl_cut_range(const struct pl_cut *cut, int i);
/* From range i to the one before range `end`. */
struct pl_range pl_cut_run(const struct pl_cut *cut, int i, int end);

/* The vector of a call, cut as Reduce_scatter and Reduce_scatter_block give it to the ranks, else
 * in p equal ranges. Reduce_scatter uses PL_SLOT_AUX. */
int pl_cut_of(const struct pl_call *call, int p, struct pl_cut *cut);

/* Elements of a segment: at least 1, at most n. */
int pl_segment(const struct pl_call *call, int segment_bytes, int n);

/* inout = in op inout; no call for nothing. */
int pl_combine(const struct pl_call *call, const void *in, void *inout, int count);

/* The result of a reduction over this rank alone: its operands, copied unless in place. */
int pl_alone(const struct pl_call *call);

#endif
