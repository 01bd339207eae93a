/* Blocks of all ranks as bytes, wherever they lie.
 *
 * Mock-ups that move the blocks of a buffer in other portions than the call does (padded, or piece
 * by piece) copy them to and from rows: p portions of equal width, one after another. So every rank
 * passes the same count of MPI_BYTE to the inner function, and no library has to cut a derived type
 * (blocks.c says why that matters). */
#ifndef PL_PARTS_H
#define PL_PARTS_H

#include "tools.h"

/* One side of a call: p blocks of `count` elements or, where `counts` is not NULL, counts[i]
 * elements at displs[i]. */
struct pl_side {
    const void *buf;
    int count;
    const int *counts, *displs;
    MPI_Datatype type;
};
struct pl_side pl_send_side(const struct pl_call *call); /* recvbuf if the call is in place */
struct pl_side pl_recv_side(const struct pl_call *call);

/* Bytes of all p blocks; past INT_MAX nothing below may be used. */
long long pl_side_bytes(const struct pl_side *side, int p);

/* The block of one rank. */
struct pl_part {
    char *at;
    int bytes;
};

/* Memory for `tables` tables of p parts; NULL when memory is short. Takes PL_SLOT_AUX. */
struct pl_part *pl_part_tables(MPI_Comm comm, int p, int tables);

/* Where the blocks are as bytes: in the user's memory if the type is dense and `packed` false, else
 * one after another in a scratch slot. */
int pl_parts(MPI_Comm comm, const struct pl_side *side, int p, bool packed, int slot,
             struct pl_part *parts);
/* From the user's memory into parts first .. first + count - 1, and from all parts back; nothing to
 * do where they are the same. */
int pl_parts_pack(MPI_Comm comm, const struct pl_side *side, int first, int count,
                  const struct pl_part *parts);
int pl_parts_unpack(MPI_Comm comm, const struct pl_side *side, int p, const struct pl_part *parts);

/* True if the parts lie one after another from parts[0].at on. */
bool pl_parts_together(const struct pl_part *parts, int p);

/* Blocks of several lengths as calls with equal blocks: `count` rounds with `width` bytes (or
 * elements) of every block, padded. One round moves little more than all blocks have together
 * (total / p rounded up, p times), so memory stays bounded however uneven they are; blocks that
 * differ by at most one need one round, and so do empty ones. */
struct pl_equal_rounds {
    int width, count;
};
struct pl_equal_rounds pl_equal_rounds(int total, int longest, int p);
/* In bytes, for a side with counts; width -1 where all blocks have more than INT_MAX - p bytes. */
struct pl_equal_rounds pl_equal_rounds_of(const struct pl_side *side, int p);

/* Bytes of a block in first .. first + width - 1. */
int pl_overlap(int bytes, int first, int width);

/* `width` bytes of a block from `first` on: in its own memory if it has them all, else a copy in
 * `pad`, filled up with zeros. */
const void *pl_slice(const struct pl_part *part, int first, int width, char *pad);
/* The same, always a copy. */
void pl_slice_to(const struct pl_part *part, int first, int width, char *to);

/* Bytes first .. first + width - 1 of every block, as far as it has them, into p rows of `width`
 * bytes (the rest is zero), and back. */
void pl_rows_fill(char *rows, const struct pl_part *parts, int p, int first, int width);
void pl_rows_empty(const char *rows, const struct pl_part *parts, int p, int first, int width);

#endif
