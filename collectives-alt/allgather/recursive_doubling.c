/* Allgather by recursive doubling: in round k ranks 2^k apart exchange all they have.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.1; ranks beyond a power of two
 * are folded as in their Allreduce (section 4.5).
 * Cost, p a power of two: log2 p a + (p-1)/p n b. Else floor(log2 p) + 2 messages, the last of
 * which brings n bytes to a rank that stood aside.
 * Restrictions: none.
 * Messages: one a round and direction, on the private communicator.
 * Scratch: none; with a derived receive type n bytes. */
#include "gathered.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_recursive_doubling, pl_allgather_by_multiplying,
            "exchange with ranks 1, 2, 4, … apart (Thakur, Rabenseifner, Gropp 2005)",
            .scratch_volumes = 1, .parameters = {PL_FIXED(2)});
