/* Bcast on a star: the root starts a message to every other rank and waits for all of them.
 *
 * Source: the linear algorithm of Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel, Dongarra,
 * Cluster Computing 10(2), 2007.
 * Cost: (p-1) (a + n b).
 * Restrictions: none; any root, any layout.
 * Messages: p - 1 of n bytes, all open at once; bytes of the packed vector, where bcast_naive_send
 * hands the user's datatype to one MPI_Send after another.
 * Scratch: n bytes on ranks with a derived type, p - 1 requests at the root. */
#include "bcast.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_linear, pl_bcast_by_tree,
            "the root sends to all at once (linear)", .scratch_volumes = 1,
            .parameters = {PL_FIXED(INT_MAX)});
