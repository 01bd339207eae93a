/* Messages described by derived datatypes, beside messages with the same data that the caller packs
 * or that have no gaps (Gropp, Hoefler, Thakur, Träff, Performance expectations and guidelines for
 * MPI derived datatypes, EuroMPI 2011). A repetition is a round trip, as in point_to_point.c: both
 * ranks keep the data in the layout of the datatype, and the partner answers from where it
 * received.
 *
 * A unit of a layout has as many elements as a block: the largest number that divides the message
 * and takes at most 64 bytes. A `vector` has a gap as long as the block after each block. A
 * `struct` has two members, each followed by a gap of half a block; a message is an array of it. */
#include "pattern/pattern.h"

#include "measure/types.h"

#include <stdlib.h>
#include <string.h>

const struct pl_pattern pl_pattern_vector = {
    .name = "vector",
    .summary = "a round trip of a message whose blocks of at most 64 bytes have gaps between them",
    .least_ranks = 2,
    .has_root = true,
};

const struct pl_pattern pl_pattern_struct = {
    .name = "struct",
    .summary = "a round trip of an array of structures with two members and gaps after both",
    .least_ranks = 2,
    .has_root = true,
};

enum { BLOCK_BYTES = 64 };

/* The message of a series: `count` elements of `type` at `out` and `in`. `storage`: memory with
 * gaps, which holds `units` units of `block` elements, `first` of them in the first member; NULL
 * where the data lie in the buffers of the call. `packed`: room for a packed message. */
static struct {
    MPI_Datatype type;
    int count, packed_bytes, units, block, first;
    size_t width;
    void *storage, *packed, *in, *into;
    const void *out;
} message = {.type = MPI_DATATYPE_NULL};

static int element_bytes(const struct pl_call *call)
{
    int size = 1;
    PMPI_Type_size(call->recvtype, &size);
    return size;
}

static void choose_block(const struct pl_call *call)
{
    const int count = call->recvcount, width = element_bytes(call);
    int block = BLOCK_BYTES / width;
    while (block > 1 && count % block != 0)
        block--;
    message.width = (size_t)width;
    message.block = block > 0 ? block : 1;
    message.units = count / message.block;
}

/* Copies units between contiguous data and the layout with gaps, without the library. */
static void copy_units(unsigned char *spread, unsigned char *contiguous, bool to_contiguous)
{
    const size_t block = (size_t)message.block * message.width;
    const size_t members[] = {(size_t)message.first * message.width,
                              block - (size_t)message.first * message.width};
    for (int unit = 0; unit < message.units; unit++)
        for (int member = 0; member < 2; member++) {
            unsigned char *there = spread + (size_t)unit * 2 * block + (member ? block : 0);
            unsigned char *here = contiguous + (size_t)unit * block + (member ? members[0] : 0);
            memcpy(to_contiguous ? here : there, to_contiguous ? there : here, members[member]);
        }
}

static int make_storage(const struct pl_call *call)
{
    const struct pl_pair_role role = pl_role(call);
    const size_t bytes = 2 * (size_t)message.units * (size_t)message.block * message.width;
    int rc = MPI_SUCCESS;
    if (!role.is_root && !role.is_partner)
        return rc;
    message.storage = calloc(2, bytes + 1);
    if (!message.storage)
        return MPI_ERR_NO_MEM;
    unsigned char *const spread = message.storage;
    message.in = spread + bytes;
    message.into = call->recvbuf;
    message.out = role.is_root ? message.storage : message.in;
    /* The partner sends what it has received. */
    if (role.is_root)
        copy_units(spread, (unsigned char *)(uintptr_t)call->sendbuf, false);
    PL_TRY(MPI_Type_commit(&message.type));
    PL_TRY(MPI_Pack_size(message.count, message.type, call->comm, &message.packed_bytes));
    message.packed = malloc((size_t)message.packed_bytes + 1);
    if (!message.packed)
        rc = MPI_ERR_NO_MEM;
out:
    return rc;
}

static int make_vector(const struct pl_call *call)
{
    int rc;
    choose_block(call);
    message.first = message.block;
    message.count = 1;
    PL_TRY(MPI_Type_vector(message.units, message.block, 2 * message.block, call->recvtype,
                           &message.type));
    rc = make_storage(call);
out:
    return rc;
}

static int make_struct(const struct pl_call *call)
{
    int rc;
    choose_block(call);
    const MPI_Aint block = (MPI_Aint)message.block * (MPI_Aint)message.width;
    message.first = message.block - message.block / 2;
    message.count = message.units;
    const int lengths[] = {message.first, message.block - message.first};
    const MPI_Aint displacements[] = {0, block};
    const MPI_Datatype types[] = {call->recvtype, call->recvtype};
    MPI_Datatype members;
    PL_TRY(MPI_Type_create_struct(lengths[1] ? 2 : 1, lengths, displacements, types, &members));
    rc = MPI_Type_create_resized(members, 0, 2 * block, &message.type);
    MPI_Type_free(&members);
    if (rc == MPI_SUCCESS)
        rc = make_storage(call);
out:
    return rc;
}

/* Data without gaps lie in the buffers of the call. */
static int use_buffers(const struct pl_call *call)
{
    message.count = 1;
    message.out = pl_role(call).is_root ? call->sendbuf : call->recvbuf;
    message.in = call->recvbuf;
    return MPI_Type_commit(&message.type);
}

static int make_contiguous(const struct pl_call *call)
{
    int rc = MPI_Type_contiguous(call->recvcount, call->recvtype, &message.type);
    return rc == MPI_SUCCESS ? use_buffers(call) : rc;
}

static int make_vector_without_gaps(const struct pl_call *call)
{
    choose_block(call);
    int rc =
        MPI_Type_vector(message.units, message.block, message.block, call->recvtype, &message.type);
    return rc == MPI_SUCCESS ? use_buffers(call) : rc;
}

/* What has come is put where it is checked. */
static void finish(void)
{
    if (message.storage)
        copy_units(message.in, message.into, true);
    if (message.type != MPI_DATATYPE_NULL)
        MPI_Type_free(&message.type);
    free(message.storage);
    free(message.packed);
    message.storage = message.packed = NULL;
}

static int send_typed(const struct pl_call *call, int peer)
{
    return MPI_Send(message.out, message.count, message.type, peer, PL_PATTERN_TAG, call->comm);
}

static int receive_typed(const struct pl_call *call, int peer)
{
    return MPI_Recv(message.in, message.count, message.type, peer, PL_PATTERN_TAG, call->comm,
                    MPI_STATUS_IGNORE);
}

static int pack_and_send(const struct pl_call *call, int peer)
{
    int position = 0, rc;
    PL_TRY(MPI_Pack(message.out, message.count, message.type, message.packed, message.packed_bytes,
                    &position, call->comm));
    rc = MPI_Send(message.packed, position, MPI_PACKED, peer, PL_PATTERN_TAG, call->comm);
out:
    return rc;
}

static int receive_and_unpack(const struct pl_call *call, int peer)
{
    int position = 0, rc;
    PL_TRY(MPI_Recv(message.packed, message.packed_bytes, MPI_PACKED, peer, PL_PATTERN_TAG,
                    call->comm, MPI_STATUS_IGNORE));
    rc = MPI_Unpack(message.packed, message.packed_bytes, &position, message.in, message.count,
                    message.type, call->comm);
out:
    return rc;
}

typedef int step(const struct pl_call *call, int peer);

static inline int there_and_back(const struct pl_call *call, step *send, step *receive)
{
    const struct pl_pair_role role = pl_role(call);
    int rc = MPI_SUCCESS;
    if (role.is_root || role.is_partner) {
        PL_TRY((role.is_root ? send : receive)(call, role.peer));
        PL_TRY((role.is_root ? receive : send)(call, role.peer));
    }
out:
    return rc;
}

static int typed(const struct pl_call *call)
{
    return there_and_back(call, send_typed, receive_typed);
}

static int packed(const struct pl_call *call)
{
    return there_and_back(call, pack_and_send, receive_and_unpack);
}

#define PL_TYPED(symbol, of, text, make, how)                                                      \
    const struct pl_operation pl_operation_##symbol = {.name = #symbol,                            \
                                                       .pattern = &pl_pattern_##of,                \
                                                       .summary = text,                            \
                                                       .landing = PL_LANDS_ECHO,                   \
                                                       .run = how,                                 \
                                                       .begin = make,                              \
                                                       .end = finish};

PL_TYPED(contiguous_send, point_to_point, "MPI_Send and MPI_Recv of one MPI_Type_contiguous",
         make_contiguous, typed)
PL_TYPED(contiguous_vector_send, point_to_point,
         "MPI_Send and MPI_Recv of one MPI_Type_vector without gaps", make_vector_without_gaps,
         typed)
PL_TYPED(unpacked_send, point_to_point,
         "MPI_Send and MPI_Recv of one MPI_Type_vector with gaps, as vector_send", make_vector,
         typed)
PL_TYPED(vector_send, vector, "MPI_Send and MPI_Recv of one MPI_Type_vector", make_vector, typed)
PL_TYPED(vector_pack_send, vector, "MPI_Pack and MPI_Send to MPI_Recv and MPI_Unpack", make_vector,
         packed)
PL_TYPED(struct_send, struct, "MPI_Send and MPI_Recv of many MPI_Type_create_struct", make_struct,
         typed)
PL_TYPED(struct_pack_send, struct, "MPI_Pack and MPI_Send to MPI_Recv and MPI_Unpack", make_struct,
         packed)
