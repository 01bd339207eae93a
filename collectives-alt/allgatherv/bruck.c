/* Allgatherv by the algorithm of Bruck: the messages of allgather/bruck.c, whose rotated memory
 * holds parts of any length.
 *
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 4.
 * Cost: at most (radix-1) ceil(log_radix p) (a + n b), less as the parts are more alike, and n
 * bytes copied. Restrictions: none. Messages: at most (radix-1) ceil(log_radix p) from each rank,
 * on the private communicator. Scratch: n bytes; with a derived receive type 2 n and the places of
 * the parts. */
#include "gathered.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, allgatherv, allgatherv_bruck, pl_allgather_by_bruck_of_radix,
            "rounds at distances 1, radix, radix^2, … for any p (Bruck et al. 1997)",
            .scratch_volumes = 2, .parameters = {PL_BRUCK_RADIX});
