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
int pl_gathered_deliver(const struct pl_call *call, int p, const struct pl_gathered *parts);

void *pl_gathered_at(const struct pl_gathered *parts, int i);
int pl_gathered_bytes(const struct pl_gathered *parts, int i);
/* Of the parts first, first + 1, …, `count` of them; after p - 1 comes 0. */
int pl_gathered_span(const struct pl_gathered *parts, int p, int first, int count);

/* Allgatherv on a ring in pieces of at most so many bytes (allgatherv/pipelined_ring.c). */
int pl_allgather_in_pieces(const struct pl_call *call, int most);

/* Algorithms of both functions; their files in allgather/ say what they do. */
int pl_allgather_on_a_ring(const struct pl_call *call);
int pl_allgather_by_bruck(const struct pl_call *call);

#endif
