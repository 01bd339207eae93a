/* Allgatherv by the algorithm of Bruck: the messages of allgather/bruck.c, whose rotated memory
 * holds parts of any length.
 *
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 4.
 * Cost: at most ceil(log2 p) (a + n b), less as the parts are more alike, and n bytes copied.
 * Restrictions: none.
 * Messages: ceil(log2 p) from each rank, on the private communicator.
 * Scratch: n bytes; with a derived receive type 2 n and the places of the parts. */
#include "gathered.h"

PL_DESCRIBE(PL_ALGORITHM, allgatherv, allgatherv_bruck, pl_allgather_by_bruck,
            "ceil(log2 p) rounds for any p (Bruck et al. 1997)", .scratch_volumes = 2);
