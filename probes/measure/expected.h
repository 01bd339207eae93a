/* What a call must give, computed on one rank alone: the data of all ranks come from the seed, so
 * that nothing of the library that is being judged takes part but MPI_Reduce_local. In a simulation
 * all ranks are one process: there rank 0 computes it once and writes the results of all. */
#ifndef PL_EXPECTED_H
#define PL_EXPECTED_H

#include "measure/arguments.h"

/* Whether it is cheap enough: the data of all ranks are made on every rank (simulated: on one). */
bool pl_expected_is_cheap(const struct pl_arguments *arguments, const struct pl_case *c);

/* The result on this rank of `world` to buffers->reference, simulated after the ranks have agreed
 * on something next; buffers->send and buffers->pristine are used up. Returns what MPI_Reduce_local
 * returned, MPI_SUCCESS where nothing is reduced. */
int pl_expected(const struct pl_arguments *arguments, const struct pl_case *c,
                const struct pl_world *world, const struct pl_buffers *buffers, uint64_t seed);

#endif
