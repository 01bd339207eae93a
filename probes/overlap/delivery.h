/* Whether what comes is what was sent: blocks of a layout, other bytes for each pair of ranks. */
#ifndef PL_DELIVERY_H
#define PL_DELIVERY_H

#include "overlap/bench.h"

/* How many blocks lie in `out` and in `in` of a rank. */
int pl_delivery_blocks(const struct pl_bench *bench, int rank, int size);

/* Before a repetition: what this rank sends, and nothing where blocks are to come. */
void pl_delivery_fill(const struct pl_bench *bench, const struct pl_exchange *exchange);
/* After it: whether every block that goes to this rank has come. */
bool pl_delivery_holds(const struct pl_bench *bench, const struct pl_exchange *exchange);

#endif
