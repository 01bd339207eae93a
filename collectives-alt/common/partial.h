/* Partial results of a reduction that keep the order of ranks. Messages go over pl_private. */
#ifndef PL_PARTIAL_H
#define PL_PARTIAL_H

#include "vectors.h"

/* The tag of all these messages. */
enum { PL_PARTIAL_TAG = 3 };

/* The result over a run of neighbouring ranks, to which that over the run next to it is added: in
 * front of it (`lower`) or behind it, so that operands keep the order of ranks. Nothing is copied
 * but where a non-commutative operation leaves no choice: the value moves between two rooms. */
struct pl_partial {
    const struct pl_call *call;
    MPI_Comm peers;
    int n;             /* elements of the whole vector; ranges count in it */
    bool commutes;     /* `lower` does not matter */
    const void *value; /* at first the own operands; only the range added last is valid */
    int in;            /* the room of value; -1: the operands, which stay as they are */
    void *room[2];     /* PL_SLOT_SEND or recvbuf, and PL_SLOT_RECV; made when needed */
    bool made[2];
};

/* `into_recvbuf`: the receive buffer has n elements and may be written now (in place it holds the
 * operands). */
int pl_partial_start(struct pl_partial *partial, const struct pl_call *call, int n,
                     bool into_recvbuf);
int pl_partial_send(const struct pl_partial *partial, struct pl_range range, int to);
int pl_partial_receive(struct pl_partial *partial, struct pl_range range, int from, bool lower);
/* Sends a range of the value, then adds what comes in for another one. */
int pl_partial_exchange(struct pl_partial *partial, struct pl_range send, struct pl_range receive,
                        int peer, bool lower);
/* Receives one more range of the value as it is; something must have been added before. */
int pl_partial_append(const struct pl_partial *partial, struct pl_range range, int from);
/* Copies a range to its place in recvbuf, unless it is there; the value is in recvbuf then. Only
 * after a start with into_recvbuf. */
int pl_partial_finish(struct pl_partial *partial, struct pl_range range);

/* The steps of these: the room that value is not in; messages into it; what stands in it is added
 * or becomes the value. */
int pl_partial_room(struct pl_partial *partial, void **room);
int pl_partial_swap(struct pl_partial *partial, struct pl_range send, struct pl_range receive,
                    int peer, void **incoming);
int pl_partial_add(struct pl_partial *partial, struct pl_range range, bool lower);
void pl_partial_in_room(struct pl_partial *partial);
/* Copies the value to a room. */
int pl_partial_set_aside(struct pl_partial *partial);

/* Ranges of recvbuf as it is. */
int pl_send_range(const struct pl_partial *partial, struct pl_range range, int to);
int pl_receive_range(const struct pl_partial *partial, struct pl_range range, int from);
int pl_exchange_ranges(const struct pl_partial *partial, struct pl_range send, int to,
                       struct pl_range receive, int from);

#endif
