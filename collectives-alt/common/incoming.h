/* Operands of other ranks, which one rank adds in a fixed order while the next ones are on their
 * way. */
#ifndef PL_INCOMING_H
#define PL_INCOMING_H

#include "vectors.h"

/* `count` vectors of call->recvcount elements, of which number `own_at` is `own` and the others
 * come from the ranks that `sender` names. The sum of those up to a number stands in `sum`; each
 * vector is put in front of it, so that the last one has the lowest rank where order matters.
 * `sum` may be `own` if own_at is 0. */
struct pl_incoming {
    const struct pl_call *call;
    MPI_Comm peers;
    int tag, count, own_at;
    const void *own;
    void *sum;
    int window; /* messages that are open at a time, at least 1 */
    int (*sender)(const void *where, int number);
    const void *where;
};

/* Bytes of scratch memory that pl_incoming_window asks for beyond one vector. */
enum { PL_INCOMING_MOST = 1 << 16 };

/* As many vectors as fit into PL_INCOMING_MOST, at least 1 and at most `count`. */
int pl_incoming_window(const struct pl_call *call, int count);

/* Uses PL_SLOT_RECV for `window` vectors. */
int pl_add_incoming(const struct pl_incoming *incoming);

#endif
