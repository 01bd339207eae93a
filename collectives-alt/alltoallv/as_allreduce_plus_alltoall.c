/* Alltoallv as Alltoall of blocks padded to one length. A rank knows only its own counts, so an
 * Allreduce finds the longest block of all.
 *
 * Source: Traeff, "Relationships between regular and irregular collective communication operations
 * on clustered multiprocessors", Parallel Processing Letters 19(1), 2009, for padding. Rounds of at
 * most `segment_bytes` of every block keep the memory bounded.
 * Cost: Allreduce(8 bytes) + ceil(m / segment_bytes) Alltoalls, p m bytes together, for a longest
 * block of m bytes; and all bytes copied twice.
 * Restrictions: none; where a rank has more than INT_MAX bytes the ranks call the library's own
 * Alltoallv instead. In place, what a round sends has been copied before it is overwritten.
 * Scratch: 2 p segments; what a rank sends or receives in all for each derived type. */
#include "parameters.h"
#include "parts.h"

#include <limits.h>

/* The longest block of one side, or more than INT_MAX. */
static long long longest(const struct pl_side *side, int p)
{
    int most = 0, size = 0;
    const long long all = pl_side_bytes(side, p);
    if (all > INT_MAX - p)
        return all;
    PMPI_Type_size(side->type, &size);
    for (int i = 0; i < p && size > 0; i++)
        most = side->counts[i] > most ? side->counts[i] : most;
    return (long long)most * size;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    const struct pl_side source = pl_send_side(call), target = pl_recv_side(call);
    const long long out_most = longest(&source, p), in_most = longest(&target, p);
    long long here = out_most > in_most ? out_most : in_most, most = 0;
    PL_TRY(pl_inner_Allreduce(&here, &most, 1, MPI_LONG_LONG, MPI_MAX, call->comm, call));
    if (most > INT_MAX - p)
        return pl_call_mpi(call);

    const int width = most < call->values[0] ? (int)most : call->values[0];
    const size_t all = (size_t)p * (size_t)width;
    char *out_rows = pl_scratch(call->comm, PL_SLOT_WORK, 2 * all);
    struct pl_part *to = pl_part_tables(call->comm, p, 2), *from = to;
    PL_NEED(call, out_rows && to);
    PL_TRY(pl_parts(call->comm, &target, p, false, PL_SLOT_RECV, to));
    if (!in_place) {
        from = to + p;
        PL_TRY(pl_parts(call->comm, &source, p, false, PL_SLOT_SEND, from));
    }
    PL_TRY(pl_parts_pack(call->comm, &source, 0, p, from));
    int first = 0;
    do { /* one round for nothing at all */
        const int rest = (int)most - first, now = rest < width ? rest : width;
        pl_rows_fill(out_rows, from, p, first, now);
        PL_TRY(pl_inner_Alltoall(out_rows, now, MPI_BYTE, out_rows + all, now, MPI_BYTE, call->comm,
                                 call));
        pl_rows_empty(out_rows + all, to, p, first, now);
        first += now;
    } while (first < most);
    PL_TRY(pl_parts_unpack(call->comm, &target, p, to));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, alltoallv, alltoallv_as_allreduce_plus_alltoall, run,
            "Allreduce of the longest block, then padded Alltoall", .scratch_volumes = 4,
            .parameters = {
                PL_SEGMENT_BYTES(1 << 20, "of each block in one Alltoall", 4096, 65536, 1 << 20)});
