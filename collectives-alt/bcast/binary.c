/* Bcast on a complete binary tree, pipelined: rank v, counted from the root, passes on each segment
 * to 2 v + 1 and 2 v + 2 while it receives the next.
 *
 * Source: the binary tree of Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra, Cluster
 * Computing 10(2), 2007.
 * Cost: 2 (floor(log2 p) - 1 + n/s) (a + s b) with segments of s bytes.
 * Restrictions: none; any root, any layout.
 * Messages: at most 2 ceil(n/s) from a rank, four of them open at a time with each neighbour.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_binary, pl_bcast_by_segments, "binary tree, in segments",
            .scratch_volumes = 1, .parameters = {PL_BCAST_SEGMENT, PL_FIXED(2)});
