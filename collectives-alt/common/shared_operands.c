/* Reductions through the shared memory of a node (shared.h): every rank writes its operands, in
 * pieces, and who wants the result reads those of all, in the order of ranks. So all get the same
 * result, to the last bit. Where more than two ranks want much, each computes a part of a piece for
 * all (reduce-scatter, then allgather). */
#include "shared.h"
#include "vectors.h"

enum { SHARED_FROM_BYTES = 2048 }; /* of a piece: from here on each rank computes a part of it */

/* The result over ranks 0 … last of what they have written in a step: `count` elements from element
 * `from` on. */
static int reduce(const struct pl_call *call, struct pl_shared *shared,
                  const struct pl_shared_step *step, int last, int from, int count, void *to)
{
    int rc = MPI_SUCCESS;
    const size_t size = (size_t)pl_size_of(call->recvtype), skipped = (size_t)from * size;
    memcpy(to, (const char *)pl_step_of(shared, step, last) + skipped, (size_t)count * size);
    for (int rank = last - 1; rank >= 0; rank--)
        PL_TRY(pl_raise(
            call->comm,
            pl_combine(call, (const char *)pl_step_of(shared, step, rank) + skipped, to, count)));
out:
    return rc;
}

/* A piece that each rank computes a part of; ends the step too. */
static int reduce_in_parts(const struct pl_call *call, struct pl_shared *shared,
                           const struct pl_shared_step *step, int count, bool reads, void *to)
{
    int rc;
    const int p = shared->p;
    const size_t size = (size_t)pl_size_of(call->recvtype);
    const struct pl_cut cut = {.n = count, .ranges = p};
    const struct pl_range mine = pl_cut_range(&cut, shared->rank);
    const struct pl_shared_step parts = pl_step_begin(shared, (size_t)(count / p + 1) * size);
    PL_TRY(reduce(call, shared, step, p - 1, mine.first, mine.count, pl_step_own(shared, &parts)));
    pl_step_publish(shared, &parts);
    for (int i = 0; reads && i < p; i++) {
        const int other = (shared->rank + i) % p;
        const struct pl_range part = pl_cut_range(&cut, other);
        memcpy((char *)to + (size_t)part.first * size, pl_step_of(shared, &parts, other),
               (size_t)part.count * size);
    }
    pl_step_end(shared, &parts);
out:
    return rc;
}

/* A step with the operands from element `at` on. */
static inline __attribute__((always_inline)) int
reduce_piece(const struct pl_call *call, struct pl_shared *shared, int at, int count, size_t size)
{
    int rc = MPI_SUCCESS;
    const size_t bytes = (size_t)count * size, skipped = (size_t)at * size;
    const bool scans = call->function == PL_FN_scan || call->function == PL_FN_exscan;
    const bool in_parts = !scans && shared->p > 2 && bytes >= SHARED_FROM_BYTES;
    const struct pl_shared_step step = pl_step_begin(shared, bytes);
    pl_step_write(shared, &step, (const char *)pl_operand(call) + skipped, bytes);
    const int last = call->function == PL_FN_scan     ? shared->rank
                     : call->function == PL_FN_exscan ? shared->rank - 1
                                                      : shared->p - 1;
    const bool reads = call->function == PL_FN_reduce ? shared->rank == call->root : last >= 0;
    char *to = reads ? (char *)call->recvbuf + skipped : NULL;
    if (in_parts)
        return reduce_in_parts(call, shared, &step, count, reads, to);
    if (reads)
        PL_TRY(reduce(call, shared, &step, last, 0, count, to));
    pl_step_end(shared, &step);
out:
    return rc;
}

static PL_NOT_INLINE int reduce_pieces(const struct pl_call *call)
{
    int rc;
    struct pl_shared *shared;
    PL_TRY(pl_shared(call, &shared));
    const int n = call->recvcount, piece = pl_segment(call, PL_STEP_BYTES, n);
    const size_t size = (size_t)pl_size_of(call->recvtype);
    for (int at = 0; at < n; at += piece)
        PL_TRY(reduce_piece(call, shared, at, n - at < piece ? n - at : piece, size));
out:
    return rc;
}

int pl_shared_reduce(const struct pl_call *call)
{
    struct pl_shared *shared = pl_shared_of_all(call);
    const size_t size = (size_t)pl_common_size(call->recvtype);
    const size_t bytes = (size_t)call->recvcount * size;
    if (!shared || bytes == 0 || bytes > PL_LINE_BYTES)
        return reduce_pieces(call);
    return reduce_piece(call, shared, 0, call->recvcount, size);
}

/* In place results come to the front of what was written already. */
int pl_shared_reduce_scatter(const struct pl_call *call)
{
    int rc;
    struct pl_shared *shared;
    struct pl_cut cut;
    PL_TRY(pl_shared(call, &shared));
    PL_TRY(pl_cut_of(call, shared->p, &cut));
    const struct pl_range mine = pl_cut_range(&cut, shared->rank);
    const int piece = pl_segment(call, PL_STEP_BYTES, cut.n), end = mine.first + mine.count;
    const char *operands = pl_operand(call);
    const size_t size = (size_t)pl_size_of(call->recvtype);
    for (int at = 0; at < cut.n; at += piece) {
        const int count = cut.n - at < piece ? cut.n - at : piece;
        const size_t bytes = (size_t)count * size;
        const struct pl_shared_step step = pl_step_begin(shared, bytes);
        const int from = at > mine.first ? at : mine.first;
        const int to = at + count < end ? at + count : end;
        pl_step_write(shared, &step, operands + (size_t)at * size, bytes);
        if (from < to)
            PL_TRY(reduce(call, shared, &step, shared->p - 1, from - at, to - from,
                          (char *)call->recvbuf + (size_t)(from - mine.first) * size));
        pl_step_end(shared, &step);
    }
out:
    return rc;
}
