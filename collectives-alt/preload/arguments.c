/* The arguments of a call before a variant gets them. What the library would refuse goes to it as
 * it came, so that the program gets the library's own error; an empty signature gets one form.
 *
 * Only arguments that are significant on this rank are looked at. Where one rank alone can see that
 * a call is not legal, that rank gets the error, and the others wait, as they do without us; a root
 * whose own block does not fit gets it when all have been through. */
#include "everyone.h"
#include "neighbors.h"
#include "preload.h"

#include <stdlib.h>

/* --- data movers --- */

/* Which ranks send or receive, and what: one block, a block a rank, or what a table says. */
enum who { NOBODY, ROOT, ALL };
enum shape { BLOCK, BLOCKS, TABLE };

static const struct move {
    enum who sends, receives;
    enum shape out, in;
} moves[PL_FUNCTION_COUNT] = {
    [PL_FN_bcast] = {NOBODY, ALL, BLOCK, BLOCK},   [PL_FN_gather] = {ALL, ROOT, BLOCK, BLOCKS},
    [PL_FN_gatherv] = {ALL, ROOT, BLOCK, TABLE},   [PL_FN_scatter] = {ROOT, ALL, BLOCKS, BLOCK},
    [PL_FN_scatterv] = {ROOT, ALL, TABLE, BLOCK},  [PL_FN_allgather] = {ALL, ALL, BLOCK, BLOCKS},
    [PL_FN_allgatherv] = {ALL, ALL, BLOCK, TABLE}, [PL_FN_alltoall] = {ALL, ALL, BLOCKS, BLOCKS},
    [PL_FN_alltoallv] = {ALL, ALL, TABLE, TABLE},
};

/* MPI_IN_PLACE where it is not allowed counts as a buffer. */
static bool sends(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    const struct move *move = &moves[call->function];
    const bool root = call->root == comm_state->rank;
    if (move->sends != ALL)
        return move->sends == ROOT && root;
    return call->sendbuf != MPI_IN_PLACE || (move->receives == ROOT && !root);
}

static bool receives(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    const struct move *move = &moves[call->function];
    const bool root = call->root == comm_state->rank;
    if (move->receives != ALL)
        return move->receives == ROOT && root;
    return call->recvbuf != MPI_IN_PLACE || move->sends != ROOT || !root;
}

struct side {
    const void *buf;
    MPI_Datatype type;
    long long count;      /* of the block or in the table; -1: not legal */
    long long own, first; /* the block that stays on this rank, and where it begins */
};

static inline struct side side_of(const struct pl_comm_state *comm_state, enum shape shape,
                                  const void *buf, int count, const int *counts, const int *displs,
                                  MPI_Datatype type)
{
    struct side side = {.buf = buf, .type = type, .count = count, .own = count};
    if (shape == BLOCKS)
        side.first = comm_state->rank * side.count;
    struct pl_table table;
    if (shape == TABLE) {
        const bool good = pl_add_up(counts, displs, comm_state, &table);
        side.count = good ? table.sum : -1;
        side.own = good ? table.own : count;
        side.first = good ? table.first : 0;
    }
    return side;
}

static bool is_relative(MPI_Datatype type)
{
    int size = 0;
    MPI_Aint lb = 0, extent;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_true_extent(type, &lb, &extent);
    return size != 0 && lb == 0;
}

/* Elements at no address: only a datatype that has absolute ones may have them there. */
static inline bool is_missing(const void *buf, long long count, MPI_Datatype type)
{
    return buf == MPI_BOTTOM && count > 0 && is_relative(type);
}

static inline bool is_taken(const struct side *side)
{
    return side->count >= 0 && side->buf != MPI_IN_PLACE && pl_accepts(MPI_OP_NULL, side->type) &&
           !is_missing(side->buf, side->count, side->type);
}

static bool is_same_place(const struct side *out, const struct side *in)
{
    if (out->first == in->first)
        return out->buf == in->buf;
    const struct pl_known *known = pl_find_known(MPI_OP_NULL, in->type);
    if (known)
        return (const char *)out->buf + out->first * known->extent ==
               (const char *)in->buf + in->first * known->extent;
    return pl_at(out->buf, out->first, out->type) == pl_at(in->buf, in->first, in->type);
}

/* What stays on this rank has one signature and, unless it is nothing, two places. Of a function
 * with a root only the root could see that it has not, and a library may bear it. A size that no
 * int holds is negative. */
static bool fit(const struct side *out, const struct side *in)
{
    int out_size = 0, in_size = 0;
    const bool alike = out->own == in->own && out->type == in->type;
    if (alike && !is_same_place(out, in))
        return true;
    PMPI_Type_size(out->type, &out_size);
    PMPI_Type_size(in->type, &in_size);
    if (alike)
        return out->own == 0 || out_size == 0;
    return out_size < 0 || in_size < 0 || out->own * out_size == in->own * in_size;
}

static PL_NOT_INLINE bool legal_move(const struct pl_call *call,
                                     const struct pl_comm_state *comm_state)
{
    const struct move *move = &moves[call->function];
    const bool sending = sends(call, comm_state), receiving = receives(call, comm_state);
    struct side out = {0}, in = {0};
    if (sending) {
        out = side_of(comm_state, move->out, call->sendbuf, call->sendcount, call->sendcounts,
                      call->sdispls, call->sendtype);
        if (!is_taken(&out))
            return false;
    }
    if (receiving) {
        in = side_of(comm_state, move->in, call->recvbuf, call->recvcount, call->recvcounts,
                     call->rdispls, call->recvtype);
        if (!is_taken(&in))
            return false;
    }
    return !sending || !receiving || move->sends != move->receives || fit(&out, &in);
}

/* --- a datatype for each block --- */

static struct side side_of_block(struct pl_block block)
{
    return (struct side){block.buf, block.type, block.count, block.count, 0};
}

/* `type` is that of the call, which that of an empty block need not be. */
static bool is_taken_block(const struct side *side, MPI_Datatype type)
{
    return is_taken(side) &&
           (side->count > 0 || pl_accepts(MPI_OP_NULL, type) || pl_bears_unsent(type));
}

static PL_NOT_INLINE bool legal_types(const struct pl_call *call,
                                      const struct pl_comm_state *comm_state)
{
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    if (!call->recvcounts || !call->rdispls || !call->recvtypes || call->recvbuf == MPI_IN_PLACE ||
        (!in_place && (!call->sendcounts || !call->sdispls || !call->sendtypes)))
        return false;
    for (int i = 0; i < comm_state->p; i++) {
        const struct side in = side_of_block(pl_from(call, i));
        if (!is_taken_block(&in, call->recvtypes[i]))
            return false;
        if (in_place)
            continue;
        const struct side out = side_of_block(pl_to(call, i));
        if (!is_taken_block(&out, call->sendtypes[i]) || (i == comm_state->rank && !fit(&out, &in)))
            return false;
    }
    return true;
}

/* --- reductions --- */

/* Rank 0 has no result of Exscan: it may name any buffer for it, or none. So where one is named
 * twice all ranks do as the library would. */
static PL_NOT_INLINE bool legal_reduction(const struct pl_call *call,
                                          const struct pl_comm_state *comm_state)
{
    const MPI_Datatype type = call->recvtype;
    const bool root = call->function != PL_FN_reduce || call->root == comm_state->rank;
    const bool in_place = call->sendbuf == MPI_IN_PLACE, exscan = call->function == PL_FN_exscan;
    const void *operands = in_place ? call->recvbuf : call->sendbuf;
    long long all = call->recvcount, own = all;
    struct pl_table table;
    if (call->function == PL_FN_reduce_scatter) {
        const bool good = pl_add_up(call->recvcounts, call->recvcounts, comm_state, &table);
        all = good ? table.sum : -1;
        own = good ? table.own : 0;
    }
    if (all < 0 || call->op == MPI_OP_NULL || !pl_accepts(call->op, type) || (in_place && !root) ||
        operands == MPI_IN_PLACE || is_missing(operands, all, type))
        return false;
    if (in_place || !root)
        return true;
    if (own > 0 && call->sendbuf == call->recvbuf)
        return exscan && pl_bears_alias_in_exscan();
    return call->recvbuf != MPI_IN_PLACE &&
           ((exscan && comm_state->rank == 0) || !is_missing(call->recvbuf, own, type));
}

/* --- neighbourhood collectives --- */

static bool legal_blocks(const void *buf, int count, const int *counts, const int *displs,
                         MPI_Datatype type, int neighbors)
{
    long long most = counts ? 0 : count;
    if (neighbors == 0)
        return true;
    for (int i = 0; counts && i < neighbors; i++) {
        if (counts[i] < 0)
            return false;
        most = counts[i] > most ? counts[i] : most;
    }
    const struct side side = {.buf = buf, .type = type, .count = most};
    return (!counts || displs) && is_taken(&side);
}

/* A function with a table has it where there are neighbours; of a communicator without a topology
 * no call is legal. */
static PL_NOT_INLINE bool legal_neighbors(const struct pl_call *call)
{
    int in, out;
    const bool out_table = call->function == PL_FN_neighbor_alltoallv;
    const bool in_table = out_table || call->function == PL_FN_neighbor_allgatherv;
    return pl_degrees(call->comm, &in, &out) && (!out_table || call->sendcounts || out == 0) &&
           (!in_table || call->recvcounts || in == 0) &&
           legal_blocks(call->sendbuf, call->sendcount, call->sendcounts, call->sdispls,
                        call->sendtype, out) &&
           legal_blocks(call->recvbuf, call->recvcount, call->recvcounts, call->rdispls,
                        call->recvtype, in);
}

bool pl_legal(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    if (pl_has_neighbors(call->function))
        return legal_neighbors(call);
    if (call->function == PL_FN_alltoallw)
        return legal_types(call, comm_state);
    if (moves[call->function].receives != NOBODY)
        return legal_move(call, comm_state);
    return call->function == PL_FN_barrier || legal_reduction(call, comm_state);
}

/* --- what a decision depends on --- */

bool pl_table_of(const struct pl_call *call, const struct pl_comm_state *comm_state,
                 struct pl_table *out, struct pl_table *in)
{
    const struct move *move = &moves[call->function];
    if (call->function == PL_FN_reduce_scatter)
        return pl_add_up(call->recvcounts, call->recvcounts, comm_state, in);
    return (move->out != TABLE || !sends(call, comm_state) ||
            pl_add_up(call->sendcounts, call->sdispls, comm_state, out)) &&
           (move->in != TABLE || !receives(call, comm_state) ||
            pl_add_up(call->recvcounts, call->rdispls, comm_state, in));
}

static bool lasts(MPI_Op op, MPI_Datatype type)
{
    return pl_common_size(type) > 0 || pl_find_known(op, type);
}

/* Calls of neighbours and of Alltoallw are never remembered: that their counts or datatypes are the
 * same would take a look at as many of them. */
bool pl_lasts(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    if (pl_has_neighbors(call->function) || call->function == PL_FN_alltoallw)
        return false;
    if (moves[call->function].receives != NOBODY)
        return (!sends(call, comm_state) || lasts(MPI_OP_NULL, call->sendtype)) &&
               (!receives(call, comm_state) || lasts(MPI_OP_NULL, call->recvtype));
    return call->function == PL_FN_barrier ||
           (pl_own_op(call->op) != PL_OWN_OPS && lasts(call->op, call->recvtype));
}

uintptr_t pl_clash(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    const struct move *move = &moves[call->function];
    const uintptr_t none = UINTPTR_MAX / 2 + 1;
    const bool reduce = call->function == PL_FN_reduce;
    if (pl_reduces(call->function))
        return reduce && call->root != comm_state->rank ? none : 0;
    if (move->sends != ALL || move->receives != ALL || call->sendbuf == MPI_IN_PLACE)
        return none;
    const struct side out = side_of(comm_state, move->out, call->sendbuf, call->sendcount,
                                    call->sendcounts, call->sdispls, call->sendtype);
    const struct side in = side_of(comm_state, move->in, call->recvbuf, call->recvcount,
                                   call->recvcounts, call->rdispls, call->recvtype);
    MPI_Aint lb, extent = 0;
    PMPI_Type_get_extent(out.type, &lb, &extent);
    return out.type == in.type ? (uintptr_t)((out.first - in.first) * extent) : none;
}

/* --- empty signatures --- */

static bool is_nothing(MPI_Datatype type)
{
    int size = 0;
    return !pl_find_known(MPI_OP_NULL, type) && PMPI_Type_size(type, &size) == MPI_SUCCESS &&
           size == 0;
}

/* Ranks may write an empty signature as elements of size 0, or as no elements. There are libraries
 * that send a message for the one and wait for none for the other, or the other way round, and
 * hang (Ialltoallv and Ibcast of Open MPI 4.1.4). */
static PL_NOT_INLINE int run_without(bool out, bool in, const struct pl_spec *spec,
                                     const struct pl_call *call, int p)
{
    struct pl_call plain = *call;
    int *zeros = calloc((size_t)p, sizeof *zeros);
    if (!zeros)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    if (out) {
        plain.sendcount = 0;
        plain.sendtype = MPI_BYTE;
        plain.sendcounts = plain.sdispls = call->sendcounts ? zeros : NULL;
    }
    if (in) {
        plain.recvcount = 0;
        plain.recvtype = MPI_BYTE;
        plain.recvcounts = plain.rdispls = call->recvcounts ? zeros : NULL;
    }
    const int rc = pl_spec_run(spec, &plain);
    free(zeros);
    return rc;
}

/* --- a root that sends itself another block than it receives --- */

/* Bytes of the block that the root keeps, as it sends and as it receives it. */
struct kept {
    struct side out, in;
    long long sent, received;
};

/* Whether they differ, which of a function with a root the root alone can see. */
static PL_NOT_INLINE bool keeps_another(const struct pl_call *call,
                                        const struct pl_comm_state *comm_state, struct kept *kept)
{
    const struct move *move = &moves[call->function];
    int sent = 0, received = 0;
    if (!sends(call, comm_state) || !receives(call, comm_state))
        return false;
    kept->out = side_of(comm_state, move->out, call->sendbuf, call->sendcount, call->sendcounts,
                        call->sdispls, call->sendtype);
    kept->in = side_of(comm_state, move->in, call->recvbuf, call->recvcount, call->recvcounts,
                       call->rdispls, call->recvtype);
    if (kept->out.own == kept->in.own && call->sendtype == call->recvtype)
        return false;
    PMPI_Type_size(call->sendtype, &sent);
    PMPI_Type_size(call->recvtype, &received);
    kept->sent = kept->out.own * sent;
    kept->received = kept->in.own * received;
    return kept->sent != kept->received;
}

/* `count` blocks that lie one behind the other in `from`, where the call says. */
static int deliver(const struct pl_call *call, const struct kept *kept, const char *from, int count)
{
    int rc = MPI_SUCCESS, size = 0;
    PMPI_Type_size(call->recvtype, &size);
    const int bytes = (int)kept->sent, elements = size > 0 ? bytes / size : 0;
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
        rc = pl_unpack(
            from + (size_t)i * (size_t)bytes, elements * size,
            pl_at(call->recvbuf, count > 1 ? i * kept->in.own : kept->in.first, call->recvtype),
            elements, call->recvtype, call->comm);
    return rc;
}

/* The root takes part in the call that all others make, and then gets what a library says that
 * sends a message from the root to itself. Of a Gather all blocks are like the root's own, as far
 * as it can know. */
static PL_NOT_INLINE int run_unfit(const struct pl_spec *spec, const struct pl_call *call,
                                   const struct kept *kept, int p)
{
    const bool gathers = call->function == PL_FN_gather;
    const int blocks = gathers ? p : 1;
    struct pl_call fitting = *call;
    int rc = MPI_SUCCESS;
    char *all = malloc((size_t)blocks * (size_t)kept->sent + 1);
    if (!all)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    if (gathers) {
        fitting.recvbuf = all;
        fitting.recvcount = (int)kept->sent;
        fitting.recvtype = MPI_BYTE;
    } else if (call->function == PL_FN_gatherv) {
        fitting.sendbuf = MPI_IN_PLACE;
    } else {
        fitting.recvbuf = MPI_IN_PLACE;
    }
    PL_TRY(pl_spec_run(spec, &fitting));
    if (kept->sent > kept->received) {
        rc = pl_raise(call->comm, MPI_ERR_TRUNCATE);
        goto out;
    }
    if (!gathers)
        PL_TRY(pl_pack(pl_at(call->sendbuf, kept->out.first, call->sendtype), (int)kept->out.own,
                       call->sendtype, all, (int)kept->sent, call->comm));
    rc = deliver(call, kept, all, blocks);
out:
    free(all);
    return rc;
}

bool pl_unfit(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    const struct move *move = &moves[call->function];
    struct kept kept;
    return move->sends != move->receives && keeps_another(call, comm_state, &kept);
}

static PL_NOT_INLINE int run_move(const struct pl_spec *spec, const struct pl_call *call,
                                  const struct pl_comm_state *comm_state)
{
    const struct move *move = &moves[call->function];
    const bool out = sends(call, comm_state) && is_nothing(call->sendtype);
    const bool in = receives(call, comm_state) && is_nothing(call->recvtype);
    struct kept kept;
    if (out || in)
        return run_without(out, in, spec, call, comm_state->p);
    if (move->sends != move->receives && keeps_another(call, comm_state, &kept))
        return run_unfit(spec, call, &kept, comm_state->p);
    return pl_spec_run(spec, call);
}

int pl_run(const struct pl_spec *spec, const struct pl_call *call,
           const struct pl_comm_state *comm_state)
{
    return moves[call->function].receives != NOBODY ? run_move(spec, call, comm_state)
                                                    : pl_spec_run(spec, call);
}
