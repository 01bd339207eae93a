/* What variants are made of: memory and a communicator of their own, copies of any layout, blocks.
 *
 * Costs in the variants' heads: p ranks, volume n in bytes, a for a message, b for a byte sent, g
 * for a byte reduced (the alpha, beta and gamma of the Hockney model with computation).
 *
 * Errors: a variant that returns an error has given it to the error handler of call->comm exactly
 * once. MPI calls on call->comm do that themselves; everything else goes through pl_raise. PL_LEFT
 * is none, and is handed on as it is. */
#ifndef PL_TOOLS_H
#define PL_TOOLS_H

#include "inner.h"
#include "kept.h"

#include <string.h>

/* Slots of pl_scratch. PL_SLOT_COPY belongs to pl_copy, PL_SLOT_REQUESTS to pl_requests,
 * PL_SLOT_TABLES to pl_tables. */
enum {
    PL_SLOT_SEND,
    PL_SLOT_RECV,
    PL_SLOT_AUX,
    PL_SLOT_WORK,
    PL_SLOT_COPY,
    PL_SLOT_REQUESTS,
    PL_SLOT_TABLES
};

/* Gives an error, if rc is one, to the error handler of comm; returns rc. */
int pl_raise(MPI_Comm comm, int rc);

/* Jump to the label `out` where there is no memory for what a call needs. */
#define PL_NEED(call, memory)                                                                      \
    do {                                                                                           \
        if (!(memory)) {                                                                           \
            rc = pl_raise((call)->comm, MPI_ERR_NO_MEM);                                           \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

/* The state kept on the call's communicator; NULL when memory is short. */
static inline struct pl_kept *pl_kept_of(const struct pl_call *call)
{
    return call->kept ? call->kept : pl_kept_on(call->comm);
}

/* A communicator of the same ranks for point-to-point messages that no receive of the application
 * can catch. Made by the first call, which is collective; kept on comm and freed with it. PL_LEFT,
 * on all ranks alike, where there is none: so a variant asks before it sends or writes anything. */
int pl_private(MPI_Comm comm, MPI_Comm *private_comm);

/* --- tables of an inner call: p counts, then p displacements (blocks.c) --- */

const int *pl_tables_filled(const struct pl_call *call, int p, pl_fill *write, int x, int y);

/* Returns the counts, which nobody may change. They are kept on the communicator and written only
 * where the last ones there were others. The displacements follow the counts. NULL when memory is
 * short. */
static inline const int *pl_tables(const struct pl_call *call, int p, pl_fill *write, int x, int y)
{
    const struct pl_kept *kept = pl_kept_of(call);
    const struct pl_blocks *now = kept ? kept->now : NULL;
    if (now && now->block[PL_SLOT_TABLES] && now->fill == write && now->x == x && now->y == y)
        return now->block[PL_SLOT_TABLES];
    return pl_tables_filled(call, p, write, x, y);
}

pl_fill pl_equal_blocks; /* p blocks of x, one behind the other */
pl_fill pl_one_block;    /* a block of y on rank x, nothing on the others */
pl_fill pl_same_block;   /* p times the same block of x, at the front */

/* The first tag of a variant's own messages; smaller ones belong to common/. Tags tell apart the
 * messages of one call: those of two calls come in order from each rank, and nobody receives from
 * any source. So variants need not know each other's. */
enum { PL_OWN_TAG = 64 };

/* The number of ranks, and which one this is. */
static inline int pl_ranks(const struct pl_call *call, int *p, int *rank)
{
    const struct pl_kept *kept = pl_kept_of(call);
    if (!kept) {
        pl_raise(call->comm, MPI_ERR_NO_MEM);
        return MPI_ERR_NO_MEM;
    }
    *p = kept->p;
    *rank = kept->rank;
    return MPI_SUCCESS;
}

/* Room for `count` requests; NULL when memory is short. Requests of the private communicator that
 * are still open after an error are not waited for: its messages are nobody else's. */
MPI_Request *pl_requests(MPI_Comm comm, int count);

/* --- messages on the private communicator: those of MPI, but for statuses; errors are raised ---
 */

static inline int pl_peer_send(const struct pl_call *call, const void *buf, int count,
                               MPI_Datatype type, int to, int tag, MPI_Comm peers)
{
    return pl_raise(call->comm, PL_MPI(Send)(buf, count, type, to, tag, peers));
}

static inline int pl_peer_recv(const struct pl_call *call, void *buf, int count, MPI_Datatype type,
                               int from, int tag, MPI_Comm peers)
{
    return pl_raise(call->comm,
                    PL_MPI(Recv)(buf, count, type, from, tag, peers, MPI_STATUS_IGNORE));
}

static inline int pl_peer_isend(const struct pl_call *call, const void *buf, int count,
                                MPI_Datatype type, int to, int tag, MPI_Comm peers,
                                MPI_Request *request)
{
    return pl_raise(call->comm, PL_MPI(Isend)(buf, count, type, to, tag, peers, request));
}

static inline int pl_peer_irecv(const struct pl_call *call, void *buf, int count, MPI_Datatype type,
                                int from, int tag, MPI_Comm peers, MPI_Request *request)
{
    return pl_raise(call->comm, PL_MPI(Irecv)(buf, count, type, from, tag, peers, request));
}

static inline int pl_peer_sendrecv(const struct pl_call *call, const void *out, int out_count,
                                   MPI_Datatype out_type, int to, int out_tag, void *in,
                                   int in_count, MPI_Datatype in_type, int from, int in_tag,
                                   MPI_Comm peers)
{
    return pl_raise(call->comm,
                    PL_MPI(Sendrecv)(out, out_count, out_type, to, out_tag, in, in_count, in_type,
                                     from, in_tag, peers, MPI_STATUS_IGNORE));
}

static inline int pl_peer_wait(const struct pl_call *call, MPI_Request *request)
{
    return pl_raise(call->comm, PL_MPI(Wait)(request, MPI_STATUS_IGNORE));
}

static inline int pl_peer_wait_all(const struct pl_call *call, int count, MPI_Request *requests)
{
    return pl_raise(call->comm, PL_MPI(Waitall)(count, requests, MPI_STATUSES_IGNORE));
}

/* --- nodes (nodes.c) --- */

/* Which ranks of a communicator share a node (MPI_COMM_TYPE_SHARED). Nodes are numbered in the
 * order of their first ranks. The same on all ranks. */
struct pl_nodes {
    int count;
    int least_ppn, most_ppn;
    bool consecutive;   /* members[i] is i: each node has consecutive ranks */
    bool in_order;      /* consecutive, and all nodes have equally many ranks */
    const int *node_of; /* by rank */
    const int *members; /* ranks, node after node, ascending in a node */
    const int *first;   /* by node: where it begins in members; first[count] is p */
};

/* Made by the first call, which is collective; kept on comm and freed with it. PL_LEFT, on all
 * ranks alike, where no communicator could be made. */
int pl_nodes(MPI_Comm comm, const struct pl_nodes **nodes);

/* --- layout (copy.c) --- */

/* Bytes of an element; MPI_UNDEFINED where no int holds them, and where MPI has no answer. */
static inline int pl_size_of(MPI_Datatype type)
{
    int size = pl_common_size(type);
    if (size == 0 && PMPI_Type_size(type, &size) != MPI_SUCCESS)
        return MPI_UNDEFINED;
    return size;
}

/* Predefined, and n elements are n * size bytes in memory. Everything else is packed: a derived
 * type without gaps may still have its elements in another order than its signature. */
bool pl_dense_uncommon(MPI_Datatype type);
static inline bool pl_dense(MPI_Datatype type)
{
    return pl_common_size(type) > 0 || pl_dense_uncommon(type);
}

/* Address of element `index` of an array of `type` at buf. */
void *pl_at_uncommon(const void *buf, long long index, MPI_Datatype type);
static inline void *pl_at(const void *buf, long long index, MPI_Datatype type)
{
    const int size = pl_common_size(type);
    return size > 0 ? (void *)((intptr_t)buf + (intptr_t)(index * size))
                    : pl_at_uncommon(buf, index, type);
}

/* Between `count` elements at buf and `bytes` = count * size bytes in the order of the signature.
 */
int pl_pack(const void *buf, int count, MPI_Datatype type, void *packed, int bytes, MPI_Comm comm);
int pl_unpack(const void *packed, int bytes, void *buf, int count, MPI_Datatype type,
              MPI_Comm comm);

/* Copies count elements; gaps of the destination stay as they are. */
int pl_copy_uncommon(const void *from, void *to, int count, MPI_Datatype type, MPI_Comm comm);
static inline int pl_copy(const void *from, void *to, int count, MPI_Datatype type, MPI_Comm comm)
{
    const int size = pl_common_size(type);
    if (size == 0)
        return pl_copy_uncommon(from, to, count, type, comm);
    if (count > 0)
        memcpy(to, from, (size_t)count * (size_t)size);
    return MPI_SUCCESS;
}

/* pl_scratch for count elements of any type, whatever its lower bound: what it returns is used as a
 * buffer argument. NULL when memory is short. */
void *pl_scratch_uncommon(MPI_Comm comm, int slot, int count, MPI_Datatype type);
static inline void *pl_scratch_elements(MPI_Comm comm, int slot, int count, MPI_Datatype type)
{
    const int size = pl_common_size(type);
    return size > 0 ? pl_scratch(comm, slot, (size_t)count * (size_t)size)
                    : pl_scratch_uncommon(comm, slot, count, type);
}

/* --- blocks (blocks.c) --- */

/* What this rank contributes to a Gather or Allgather. */
struct pl_block {
    const void *buf;
    int count;
    MPI_Datatype type;
    int bytes;
};
struct pl_block pl_own_block_in_place(const struct pl_call *call, int rank);
static inline struct pl_block pl_own_block(const struct pl_call *call, int rank)
{
    if (call->sendbuf == MPI_IN_PLACE)
        return pl_own_block_in_place(call, rank);
    return (struct pl_block){call->sendbuf, call->sendcount, call->sendtype,
                             call->sendcount * pl_size_of(call->sendtype)};
}

/* The block as bytes: its own memory if it is dense, else packed into a scratch slot. */
int pl_block_packed(const struct pl_block *block, int slot, MPI_Comm comm, const void **bytes);
static inline int pl_block_bytes(const struct pl_block *block, int slot, MPI_Comm comm,
                                 const void **bytes)
{
    *bytes = block->buf;
    return pl_common_size(block->type) > 0 ? MPI_SUCCESS
                                           : pl_block_packed(block, slot, comm, bytes);
}

/* Where p * block->bytes bytes can be received: recvbuf if the receive type is dense, else a
 * scratch slot. pl_deliver then unpacks into recvbuf what did not land there. */
int pl_landing_found(const struct pl_call *call, int bytes, int slot, void **landing);
static inline int pl_landing(const struct pl_call *call, int bytes, int slot, void **landing)
{
    *landing = call->recvbuf;
    return pl_common_size(call->recvtype) > 0 && call->recvbuf
               ? MPI_SUCCESS
               : pl_landing_found(call, bytes, slot, landing);
}
int pl_deliver_packed(const struct pl_call *call, const void *landing, int bytes, int p);
static inline int pl_deliver(const struct pl_call *call, const void *landing, int bytes, int p)
{
    return landing == call->recvbuf ? MPI_SUCCESS : pl_deliver_packed(call, landing, bytes, p);
}

/* --- operands (operands.c) --- */

/* The vector a reduction reads on this rank, MPI_IN_PLACE resolved. */
const void *pl_operand(const struct pl_call *call);

/* `count` copies of one element. */
int pl_repeat(const void *element, void *to, int count, MPI_Datatype type, MPI_Comm comm);

/* A copy of `count` elements followed by copies of element 0 up to `padded`: valid operands, whose
 * results are dropped. `*out` is `from` itself when there is nothing to pad. */
int pl_pad(const void *from, int count, int padded, MPI_Datatype type, MPI_Comm comm,
           const void **out);

/* Sum of the counts of the ranks before `rank`. */
int pl_first(const int *counts, int rank);

#endif
