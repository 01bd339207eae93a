/* Scatterv as Alltoallv in which only the root sends. Every rank knows what it receives, so nothing
 * has to be exchanged before; datatypes stay as they are, each message has one sender and one
 * receiver.
 *
 * Source: the rule that a specialised function is not slower than a more general one; Traeff,
 * Gropp, Thakur, "Self-consistent MPI performance guidelines", IEEE TPDS 21(5), 2010.
 * Cost: Alltoallv with n bytes out of the root; linear (p-1) a + (p-1)/p n b.
 * Restrictions: none. Send arguments of the other ranks are not looked at.
 * Scratch: 2 p integers; p more at a root in place. */
#include "rooted.h"

PL_DESCRIBE(PL_MOCKUP, scatterv, scatterv_as_alltoallv, pl_rooted_alltoallv,
            "Alltoallv in which only the root sends");
