/* Allgatherv by recursive multiplying: the messages of allgather/recursive_multiplying.c, each as
 * long as the parts of its ranks.
 *
 * Source: Ruefenacht, Bull, Booth, "Generalisation of recursive doubling for AllReduce", Parallel
 * Computing 69, 2017.
 * Cost where p is a product of factors up to k: at most (k-1) logk p (a + n b), less as the parts
 * are more alike. Else two messages more.
 * Restrictions: none.
 * Messages: one to and from each other member of the group in a round, all open at once, on the
 * private communicator.
 * Scratch: none; n bytes and the places of the parts where they do not follow one another or the
 * receive type is derived; 2 k requests. */
#include "gathered.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, allgatherv, allgatherv_recursive_multiplying, pl_allgather_by_multiplying,
            "exchange in groups of up to k ranks (Ruefenacht et al. 2017)", .scratch_volumes = 1,
            .parameters = {PL_MULTIPLYING_RADIX}, .least_ranks = 4);
