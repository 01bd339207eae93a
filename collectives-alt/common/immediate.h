/* Blocking against non-blocking and Wait: <function>_as_i<function>_plus_wait.
 *
 * Source: MPI 3.1, section 5.12: a non-blocking collective has the semantics of its blocking sister
 * once it is completed, so the blocking one should not be slower than both calls together.
 * Cost: that of the library's non-blocking algorithm. Restrictions: none of ours, all arguments
 * pass through; what a library gets wrong is refused, and the variant's file says so. Messages,
 * scratch: none of ours. */
#ifndef PL_IMMEDIATE_H
#define PL_IMMEDIATE_H

#include "tools.h"

/* Begins the non-blocking sister; MPI_ERR_ARG where there is none (Reduce_local). */
int pl_immediate_start(const struct pl_call *call, MPI_Request *request);

/* The non-blocking sister with the arguments of the call, then MPI_Wait. */
int pl_immediate(const struct pl_call *call);

/* One variant: the non-blocking sister `what`, and what is refused (of enum pl_restriction). */
#define PL_IMMEDIATE(symbol, what, what_not)                                                       \
    PL_DESCRIBE(PL_MOCKUP, symbol, symbol##_as_i##symbol##_plus_wait, pl_immediate,                \
                what ", then Wait: blocking against non-blocking", .restrictions = what_not)

#endif
