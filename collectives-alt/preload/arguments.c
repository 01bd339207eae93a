/* The arguments of a call before a variant gets them. What the library would refuse goes to it as
 * it came, so that the program gets the library's own error; an empty signature gets one form.
 *
 * Only arguments that are significant on this rank are looked at. Where one rank alone can see that
 * a call is not legal, that rank gets the error, and the others wait, as they do without us. */
#include "preload.h"
#include "tools.h"

#include <stdlib.h>

/* --- data movers --- */

/* What is sent or received here: one block, a block a rank, or what a table says. */
enum shape { BLOCK, BLOCKS, TABLE };

struct side {
    const void *buf;
    MPI_Datatype type;
    long long count;      /* of the block or in the table; -1: not legal */
    long long own, first; /* the block that stays on this rank, and where it begins */
};

static bool gathers(const struct pl_call *call)
{
    return call->function == PL_FN_gather || call->function == PL_FN_gatherv;
}

static bool scatters(const struct pl_call *call)
{
    return call->function == PL_FN_scatter || call->function == PL_FN_scatterv;
}

/* MPI_IN_PLACE where it is not allowed counts as a buffer. */
static bool sends(const struct pl_call *call, const struct pl_place *place)
{
    const bool root = call->root == place->rank;
    if (scatters(call))
        return root;
    return call->function != PL_FN_bcast &&
           (call->sendbuf != MPI_IN_PLACE || (gathers(call) && !root));
}

static bool receives(const struct pl_call *call, const struct pl_place *place)
{
    const bool root = call->root == place->rank;
    if (gathers(call))
        return root;
    return call->recvbuf != MPI_IN_PLACE || !scatters(call) || !root;
}

static enum shape shape_of(enum pl_function function, bool sending)
{
    switch (function) {
    case PL_FN_alltoall:
        return BLOCKS;
    case PL_FN_alltoallv:
        return TABLE;
    case PL_FN_scatter:
        return sending ? BLOCKS : BLOCK;
    case PL_FN_scatterv:
        return sending ? TABLE : BLOCK;
    case PL_FN_gather:
    case PL_FN_allgather:
        return sending ? BLOCK : BLOCKS;
    case PL_FN_gatherv:
    case PL_FN_allgatherv:
        return sending ? BLOCK : TABLE;
    default:
        return BLOCK;
    }
}

/* -1: an array is missing, or a count is negative. */
static long long sum_of(const int *counts, const int *displs, int p)
{
    long long sum = 0;
    for (int i = 0; i < p; i++) {
        if (!counts || !displs || counts[i] < 0)
            return -1;
        sum += counts[i];
    }
    return sum;
}

static struct side side_of(const struct pl_call *call, const struct pl_place *place, bool sending)
{
    const int *counts = sending ? call->sendcounts : call->recvcounts;
    const int *displs = sending ? call->sdispls : call->rdispls;
    struct side side = {.buf = sending ? call->sendbuf : call->recvbuf,
                        .type = sending ? call->sendtype : call->recvtype,
                        .count = sending ? call->sendcount : call->recvcount};
    side.own = side.count;
    switch (shape_of(call->function, sending)) {
    case BLOCK:
        break;
    case BLOCKS:
        side.first = place->rank * side.count;
        break;
    case TABLE:
        side.count = sum_of(counts, displs, place->p);
        if (side.count >= 0) {
            side.own = counts[place->rank];
            side.first = displs[place->rank];
        }
    }
    return side;
}

/* Elements at no address: only a datatype that has absolute ones may have them there. */
static bool is_missing(const void *buf, long long count, MPI_Datatype type)
{
    int size = 0;
    MPI_Aint lb = 0, extent;
    if (buf != MPI_BOTTOM || count == 0)
        return false;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_true_extent(type, &lb, &extent);
    return size != 0 && lb == 0;
}

static bool is_taken(const struct side *side)
{
    return side->count >= 0 && side->buf != MPI_IN_PLACE && pl_accepts(MPI_OP_NULL, side->type) &&
           !is_missing(side->buf, side->count, side->type);
}

/* What stays on this rank has one signature and, unless it is nothing, two places. Of a function
 * with a root only the root could see that it has not, and a library may bear it. A size that no
 * int holds is negative. */
static bool fit(const struct pl_call *call, const struct side *out, const struct side *in)
{
    int out_size = 0, in_size = 0;
    const bool alike = out->own == in->own && out->type == in->type;
    if (gathers(call) || scatters(call) ||
        (alike && pl_at(out->buf, out->first, out->type) != pl_at(in->buf, in->first, in->type)))
        return true;
    PMPI_Type_size(out->type, &out_size);
    PMPI_Type_size(in->type, &in_size);
    if (alike)
        return out->own == 0 || out_size == 0;
    return out_size < 0 || in_size < 0 || out->own * out_size == in->own * in_size;
}

static bool legal_move(const struct pl_call *call, const struct pl_place *place)
{
    const bool sending = sends(call, place), receiving = receives(call, place);
    struct side out = {0}, in = {0};
    if (sending) {
        out = side_of(call, place, true);
        if (!is_taken(&out))
            return false;
    }
    if (receiving) {
        in = side_of(call, place, false);
        if (!is_taken(&in))
            return false;
    }
    return !sending || !receiving || fit(call, &out, &in);
}

/* --- reductions --- */

/* Rank 0 has no result of Exscan: it may name any buffer for it, or none. So where one is named
 * twice all ranks do as the library would. */
static bool legal_reduction(const struct pl_call *call, const struct pl_place *place)
{
    const MPI_Datatype type = call->recvtype;
    const bool root = call->function != PL_FN_reduce || call->root == place->rank;
    const bool in_place = call->sendbuf == MPI_IN_PLACE, exscan = call->function == PL_FN_exscan;
    const void *operands = pl_operand(call);
    long long all = call->recvcount, own = all;
    if (call->function == PL_FN_reduce_scatter) {
        all = sum_of(call->recvcounts, call->recvcounts, place->p);
        own = all < 0 ? 0 : call->recvcounts[place->rank];
    }
    if (all < 0 || call->op == MPI_OP_NULL || !pl_accepts(call->op, type) || (in_place && !root) ||
        operands == MPI_IN_PLACE || is_missing(operands, all, type))
        return false;
    if (in_place || !root)
        return true;
    if (own > 0 && call->sendbuf == call->recvbuf)
        return exscan && pl_bears_alias_in_exscan();
    return call->recvbuf != MPI_IN_PLACE &&
           ((exscan && place->rank == 0) || !is_missing(call->recvbuf, own, type));
}

bool pl_legal(const struct pl_call *call, const struct pl_place *place)
{
    if (call->function == PL_FN_barrier)
        return true;
    return pl_reduces(call->function) ? legal_reduction(call, place) : legal_move(call, place);
}

/* --- empty signatures --- */

static bool is_nothing(MPI_Datatype type)
{
    int size = pl_common_size(type);
    return size == 0 && PMPI_Type_size(type, &size) == MPI_SUCCESS && size == 0;
}

/* Ranks may write an empty signature as elements of size 0, or as no elements. There are libraries
 * that send a message for the one and wait for none for the other, or the other way round, and
 * hang (Ialltoallv of Open MPI 4.1.4). */
int pl_run(const struct pl_spec *spec, const struct pl_call *call, const struct pl_place *place)
{
    const bool moves = call->function != PL_FN_barrier && !pl_reduces(call->function);
    const bool no_out = moves && sends(call, place) && is_nothing(call->sendtype);
    const bool no_in = moves && receives(call, place) && is_nothing(call->recvtype);
    if (!no_out && !no_in)
        return pl_spec_run(spec, call);

    struct pl_call plain = *call;
    int *zeros = calloc((size_t)place->p, sizeof *zeros);
    if (!zeros)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    if (no_out) {
        plain.sendcount = 0;
        plain.sendtype = MPI_BYTE;
        plain.sendcounts = plain.sdispls = call->sendcounts ? zeros : NULL;
    }
    if (no_in) {
        plain.recvcount = 0;
        plain.recvtype = MPI_BYTE;
        plain.recvcounts = plain.rdispls = call->recvcounts ? zeros : NULL;
    }
    const int rc = pl_spec_run(spec, &plain);
    free(zeros);
    return rc;
}
