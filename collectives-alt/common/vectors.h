/* What reductions are made of: vectors cut into parts, partial results that keep the order of
 * ranks, and the bodies that several variants share. Messages go over pl_private. */
#ifndef PL_VECTORS_H
#define PL_VECTORS_H

#include "tools.h"

/* --- parts of a vector (vectors.c) --- */

struct pl_range {
    int first, count;
};

/* n elements in `parts` ranges, one after another. Without `first` (parts + 1 places) they are as
 * equal as can be: those at the front are longer by one. */
struct pl_parts {
    int n, parts;
    const int *first;
};

struct pl_range pl_part(const struct pl_parts *parts, int i);
/* From part i to the one before part `end`. */
struct pl_range pl_part_run(const struct pl_parts *parts, int i, int end);

/* The vector of a call: as Reduce_scatter and Reduce_scatter_block give it to the ranks, else in p
 * equal parts. Reduce_scatter uses PL_SLOT_AUX. */
int pl_parts_of(const struct pl_call *call, int p, struct pl_parts *parts);

/* Elements of a segment: at least 1, at most n. */
int pl_segment(const struct pl_call *call, int segment_bytes, int n);

/* inout = in op inout; no call for nothing. */
int pl_combine(const struct pl_call *call, const void *in, void *inout, int count);

/* The result of a reduction on one rank: its operands. */
int pl_alone(const struct pl_call *call);

/* --- partial results (partial.c) --- */

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

/* --- bodies --- */

/* To `root` from each rank in turn, in blocking receives; the order is kept (partial.c). */
int pl_reduce_from_each(struct pl_partial *partial, int p, int rank, int root);

/* Up a k-nomial tree over ranks counted from `root`; the order is kept if that is 0 (up_tree.c). */
int pl_reduce_up_tree(struct pl_partial *partial, int p, int rank, int root, int radix);
/* Reduce on such a tree; the order is kept (up_tree.c). */
int pl_reduce_on_tree(const struct pl_call *call, int radix);

/* Reduce-scatter in p - 1 steps around a ring (ring.c); p > 1. `*part` is where the own part is
 * afterwards; `direct`: it is written where *part says before. */
int pl_ring(const struct pl_call *call, MPI_Comm peers, const struct pl_parts *parts, int rank,
            bool direct, void **part);

/* The way back: the own part is in recvbuf, then all are. */
int pl_ring_allgather(const struct pl_call *call, MPI_Comm peers, const struct pl_parts *parts,
                      int rank);

/* Reduce_scatter and Reduce_scatter_block (reduce_scatter.c, ring.c). */
int pl_reduce_scatter_by_halving(const struct pl_call *call);
int pl_reduce_scatter_by_pairs(const struct pl_call *call);
int pl_reduce_scatter_by_ring(const struct pl_call *call);

/* Scan and Exscan (prefix.c). */
int pl_prefix_doubling(const struct pl_call *call);

/* --- recursive halving (halving.c) --- */

/* p ranks folded to a power of two: in the first pairs (2 i, 2 i + 1) one rank takes the operands
 * of both, the even one unless the other is `kept`. */
struct pl_fold {
    int power; /* 2^k <= p */
    int pairs; /* p - power */
    int kept;
    int place; /* of this rank among the power; -1: its mate stands for it */
    int mate;  /* the other rank of the pair, or -1 */
};

struct pl_fold pl_fold_of(int p, int rank, int kept);
/* The rank of a place; the place that stands for a rank. */
int pl_fold_rank(const struct pl_fold *fold, int place);
int pl_fold_place(const struct pl_fold *fold, int rank);
/* The ranks that `place` stands for are pl_fold_first(place) .. pl_fold_first(place + 1) - 1. */
int pl_fold_first(const struct pl_fold *fold, int place);
/* Whole vectors of mates that stand aside are added to those that stay. */
int pl_fold_in(struct pl_partial *partial, const struct pl_fold *fold, int rank);
/* Whole results, in recvbuf, go to the mates that stood aside. */
int pl_fold_out(const struct pl_partial *partial, const struct pl_fold *fold);

/* Halves the vector and adds the peer's half until one of `fold->power` blocks is left. Ascending:
 * peers at distance 1, 2, 4, …, order kept, block pl_halves(…, power). Else the largest distance
 * comes first, the operation must be commutative, and block `place` is left. */
int pl_halve(struct pl_partial *partial, const struct pl_fold *fold, const struct pl_parts *blocks,
             bool ascending);
/* The range of a place in an ascending halving before the exchange at `distance`. */
struct pl_range pl_halves(const struct pl_fold *fold, const struct pl_parts *blocks, int place,
                          int distance);

#endif
