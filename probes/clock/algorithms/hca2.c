/* HCA2: lines between pairs in ⌈log2 p⌉ rounds, merged along a binomial tree, intercepts too
 * (Hunold and Carpen-Amarie, On the impact of synchronizing clocks and processes on benchmarking
 * MPI collectives, EuroMPI 2015, second variant). Scales best of the family of 2015; the errors of
 * the merged intercepts add up. */
#include "clock/algorithms/algorithms.h"
#include "clock/algorithms/tree.h"

static struct pl_model learn(struct pl_wire *wire)
{
    return pl_tree_merged(wire, pl_learn, pl_teach);
}

const struct pl_clock_sync pl_clock_sync_hca2 = {
    .name = "hca2",
    .summary = "lines merged along a tree, log2 p rounds",
    .learn = learn,
};
