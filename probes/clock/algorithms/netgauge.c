/* Netgauge: offsets between pairs in ⌈log2 p⌉ rounds, summed along a binomial tree (Hoefler,
 * Schneider and Lumsdaine, Accurately measuring collective operations at massive scale, IPDPS
 * workshops 2008). No slope; the errors of up to ⌈log2 p⌉ offsets add up. */
#include "clock/algorithms/algorithms.h"
#include "clock/algorithms/tree.h"

static struct pl_model learn(struct pl_wire *wire)
{
    return pl_tree_merged(wire, pl_learn_offset, pl_teach_offset);
}

const struct pl_clock_sync pl_clock_sync_netgauge = {
    .name = "netgauge",
    .summary = "offsets along a tree, log2 p rounds; no drift",
    .learn = learn,
};
