/* The blocks of all ranks as bytes in their places: what the algorithms of MPI_Allgather and
 * MPI_Allgatherv pass from rank to rank. */
#ifndef PL_GATHERED_H
#define PL_GATHERED_H

#include "tools.h"

struct pl_gathered {
    void *base;
    int unit;                   /* bytes */
    const int *counts, *firsts; /* by rank, in units; NULL: one unit each, in order of rank */
};

/* Places for the parts of all p ranks, with the own part in it: recvbuf, or with a derived receive
 * type PL_SLOT_RECV (and PL_SLOT_AUX for Allgatherv) until pl_gathered_deliver. */
int pl_gathered_begin(const struct pl_call *call, int p, int rank, struct pl_gathered *parts);
/* Does the same, and makes each part end where the next one begins. */
int pl_gathered_begin_in_a_row(const struct pl_call *call, int p, int rank,
                               struct pl_gathered *parts);
int pl_gathered_deliver(const struct pl_call *call, int p, const struct pl_gathered *parts);

void *pl_gathered_at(const struct pl_gathered *parts, int i);
int pl_gathered_bytes(const struct pl_gathered *parts, int i);
/* Of the parts first, first + 1, …, `count` of them; after p - 1 comes 0. */
int pl_gathered_span(const struct pl_gathered *parts, int p, int first, int count);

/* Allgatherv on a ring in pieces of at most so many bytes (allgatherv/pipelined_ring.c). */
int pl_allgather_in_pieces(const struct pl_call *call, int most);

/* The rounds of an Allgather that moves blocks from several places as one message. */
struct pl_block_rounds {
    MPI_Comm peers;
    const struct pl_gathered *parts;
    int p, rank;
    int *out, *in;              /* the blocks of the next round, p places each */
    char *out_bytes, *in_bytes; /* room for `most` blocks each */
};

/* Calls pl_gathered_begin. A message has `most` blocks at most. Uses PL_SLOT_WORK and PL_SLOT_AUX.
 */
int pl_exchange_begin(const struct pl_call *call, int p, int rank, int most,
                      struct pl_gathered *parts, struct pl_block_rounds *exchange);
/* Sends so many blocks of the list `out`, and receives so many of `in`. */
int pl_exchange(const struct pl_call *call, const struct pl_block_rounds *exchange, int to,
                int sent, int from, int received);

/* Algorithms of both functions; their files in allgather/ say what they do. */
int pl_allgather_on_a_ring(const struct pl_call *call);
int pl_allgather_by_bruck(const struct pl_call *call, int radix);
/* Parameter: the radix. */
int pl_allgather_by_bruck_of_radix(const struct pl_call *call);
int pl_allgather_by_multiplying(const struct pl_call *call);
/* An algorithm of Allgather alone. Parameter: the most blocks of a message. */
int pl_allgather_far_first(const struct pl_call *call);

#endif
