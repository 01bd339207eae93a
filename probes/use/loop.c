/* The loop of OSU Micro-Benchmarks (their collective latency tests), and of Intel MPI Benchmarks
 * since 2019 with `-sync on`: a barrier, then each call timed on its own with a barrier behind it,
 * outside the timed region; the mean over ranks. Barriers and calls follow each other as in
 * after_barrier: what differs is that a rank which leaves early pulls the result down. */
#include "use/use.h"

const struct pl_use pl_use_loop = {
    .name = "loop",
    .summary = "the loop of OMB and IMB: MPI_Barrier between calls; the mean of the ranks' times",
    .scheme = &pl_sync_barrier,
    .span = PL_SPAN_MEAN,
};
