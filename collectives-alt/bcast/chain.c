/* Bcast on a chain, pipelined: rank after rank, counted from the root, passes on each segment while
 * it receives the next.
 *
 * Source: the pipeline of Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra, Cluster
 * Computing 10(2), 2007.
 * Cost: (p - 2 + n/s) (a + s b) with segments of s bytes.
 * Restrictions: none; any root, any layout.
 * Messages: ceil(n/s) from every rank but the last, four of them open at a time.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_chain, pl_bcast_by_segments,
            "chain of all ranks, in segments (pipeline)", .scratch_volumes = 1,
            .parameters = {PL_BCAST_SEGMENT, PL_FIXED(1)});
