#include "measure/circumstance.h"

#include "measure/types.h"
#include "names.h"
#include "simulated.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- operations of the program, on the bits of any type --- */

/* How the operands of the call under way lie: what an operation gets from the library. */
static struct {
    struct pl_placed side;
    size_t bytes; /* of an element */
} operand;
static MPI_Op operators[PL_OPERATORS];

static uint64_t added(uint64_t x, uint64_t y)
{
    return x ^ y;
}

/* Each byte is four maps x -> a x + b over {0, 1}, with a in its upper half and b in the lower;
 * first x, then y. Associative, and not commutative. */
static uint64_t composed(uint64_t x, uint64_t y)
{
    const uint64_t b = UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (x & y & ~b) | (((((y & ~b) >> 4) & x) ^ y) & b);
}

static void join(const unsigned char *in, unsigned char *inout, size_t bytes,
                 uint64_t (*one)(uint64_t, uint64_t))
{
    for (size_t at = 0; at < bytes; at += 8) {
        const size_t part = bytes - at < 8 ? bytes - at : 8;
        uint64_t x = 0, y = 0;
        memcpy(&x, in + at, part);
        memcpy(&y, inout + at, part);
        y = one(x, y);
        memcpy(inout + at, &y, part);
    }
}

static void operate(const void *in, void *inout, int count, uint64_t (*one)(uint64_t, uint64_t))
{
    const size_t extent = operand.side.extent, start = operand.side.start;
    if (extent == 0)
        join(in, inout, (size_t)count * operand.bytes, one);
    for (size_t i = 0; extent > 0 && i < (size_t)count; i++)
        join((const unsigned char *)in + i * extent + start,
             (unsigned char *)inout + i * extent + start, operand.bytes, one);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    operate(in, inout, *count, added);
}

static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    operate(in, inout, *count, composed);
}

void pl_operators_open(void)
{
    PMPI_Op_create(add, 1, &operators[PL_COMMUTES]);
    PMPI_Op_create(compose, 0, &operators[PL_ORDERED]);
}

void pl_operators_close(void)
{
    PMPI_Op_free(&operators[PL_COMMUTES]);
    PMPI_Op_free(&operators[PL_ORDERED]);
}

/* --- what is drawn --- */

static bool heads(struct pl_random *random)
{
    return pl_random_below(random, 2) == 0;
}

/* Half of all buffers begin where allocators put them. */
static size_t draw_offset(struct pl_random *random, size_t size)
{
    const size_t steps = size < 16 ? 16 / size : 1;
    return heads(random) ? 0 : size * (size_t)pl_random_below(random, steps);
}

static enum pl_company draw_company(struct pl_random *random, bool special)
{
    const uint64_t drawn = pl_random_below(random, 4);
    if (special && drawn == 0)
        return PL_SIMULATED ? PL_DUPLICATE : PL_HALF;
    if (drawn < 2)
        return PL_ALL;
    return drawn == 2 || PL_SIMULATED ? PL_DUPLICATE : PL_REVERSED;
}

struct pl_circumstance pl_circumstance_draw(struct pl_random *shared, struct pl_random *own,
                                            const struct pl_case *c, bool special)
{
    const bool reduces = pl_function_reduces(c->function);
    const size_t size = pl_types[c->type].size;
    struct pl_circumstance drawn = {.company = draw_company(shared, special),
                                    .send_offset = draw_offset(own, size),
                                    .recv_offset = draw_offset(own, size),
                                    .made = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}};
    if (!special || c->function == PL_FN_reduce_local)
        return drawn;
    drawn.in_place = heads(shared);
    if (pl_function_has_counts(c->function))
        drawn.counts = (enum pl_counts)pl_random_below(shared, PL_COUNTS);
    if (reduces && heads(shared))
        drawn.operator= heads(shared) ? PL_COMMUTES : PL_ORDERED;
    if (drawn.operator!= PL_OF_MPI) {
        /* Not packed: Open MPI 4.1.4 reduces in rings, some of them its defaults, and writes behind
         * its own memory where an element does not begin at its address. */
        static const enum pl_layout layouts[] = {PL_PLAIN, PL_GAPS, PL_WHOLE};
        drawn.sent = drawn.received = layouts[pl_random_below(shared, 3)];
    } else if (!reduces) {
        /* The same on all ranks: where these differ, the segmented trees of Open MPI 4.1.4 hang,
         * some of which are its defaults. */
        drawn.sent = (enum pl_layout)pl_random_below(shared, PL_LAYOUTS);
        drawn.received = (enum pl_layout)pl_random_below(shared, PL_LAYOUTS);
    }
    return drawn;
}

/* --- the call --- */

void pl_circumstance_operate(const struct pl_circumstance *circumstance,
                             struct pl_arguments *arguments)
{
    if (circumstance->operator== PL_OF_MPI)
        return;
    int size;
    PMPI_Type_size(arguments->call.recvtype, &size);
    operand.side = (struct pl_placed){0};
    operand.bytes = (size_t)size;
    arguments->call.op = operators[circumstance->operator];
    arguments->op =
        pl_names_find(PL_LIST_OPS, circumstance->operator== PL_ORDERED ? "MPI_BAND" : "MPI_BXOR");
}

/* Whether this rank may name MPI_IN_PLACE; ranks may not mix it where all of them do. */
static bool may_be_in_place(const struct pl_arguments *arguments, const struct pl_world *world)
{
    switch (arguments->call.function) {
    case PL_FN_barrier:
    case PL_FN_bcast:
    case PL_FN_reduce_local:
        return false;
    case PL_FN_gather:
    case PL_FN_gatherv:
    case PL_FN_scatter:
    case PL_FN_scatterv:
    case PL_FN_reduce:
        return world->rank == arguments->call.root;
    case PL_FN_alltoallv: /* what two ranks send each other is then equally much */
        return arguments->shape.total % world->size == 0 &&
               arguments->shape.parts.counts == PL_COUNTS_EQUAL;
    default:
        return true;
    }
}

static void put_in_place(struct pl_arguments *arguments, size_t size)
{
    arguments->in_place = true;
    if (arguments->call.function == PL_FN_scatter || arguments->call.function == PL_FN_scatterv) {
        arguments->call.recvbuf = MPI_IN_PLACE;
        arguments->shape.significant = false; /* what is its own stays in the send buffer */
        return;
    }
    arguments->call.sendbuf = MPI_IN_PLACE;
    if (arguments->shape.send > arguments->shape.recv)
        arguments->recv_bytes = (size_t)arguments->shape.send * size;
}

/* The datatype of a layout, and how its elements lie. */
static int make_type(enum pl_layout layout, size_t size, int *count, MPI_Datatype *type,
                     MPI_Datatype *made, struct pl_placed *side)
{
    const int one = 1;
    const MPI_Aint behind_a_char = 1;
    MPI_Datatype moved = MPI_DATATYPE_NULL;
    int rc = MPI_SUCCESS;
    switch (layout) {
    case PL_GAPS: /* a column of a matrix of two */
        side->extent = 2 * size;
        rc = PMPI_Type_create_resized(*type, 0, (MPI_Aint)side->extent, made);
        break;
    case PL_PACKED: /* struct { char; T; T; } without padding */
        side->start = 1;
        side->extent = 2 * size + 1;
        PL_TRY(PMPI_Type_create_hindexed(1, &one, &behind_a_char, *type, &moved));
        rc = PMPI_Type_create_resized(moved, 0, (MPI_Aint)side->extent, made);
        PMPI_Type_free(&moved);
        break;
    default:
        PL_TRY(PMPI_Type_contiguous(*count, *type, made));
        *count = 1;
        break;
    }
    PL_TRY(rc);
    *type = *made;
    rc = PMPI_Type_commit(made);
out:
    return rc;
}

/* Each element gets at most three times its room. A table of counts has several, so that no single
 * element can be all of them. */
static bool has_room(enum pl_layout layout, const struct pl_arguments *arguments, size_t size,
                     int count, const int *table)
{
    const struct pl_shape *shape = &arguments->shape;
    const long long more = shape->send > shape->recv ? shape->send : shape->recv;
    const size_t most = (size_t)(more > shape->total ? more : shape->total);
    if (layout == PL_WHOLE)
        return count > 0 && !table;
    return layout != PL_PLAIN && 3 * size * most + 16 <= PL_ROOM;
}

int pl_circumstance_apply(struct pl_circumstance *circumstance, struct pl_arguments *arguments,
                          const struct pl_case *c, const struct pl_world *world,
                          const struct pl_buffers *buffers)
{
    struct pl_call *call = &arguments->call;
    const size_t size = pl_types[c->type].size;
    const bool moves = arguments->op < 0;
    int rc = MPI_SUCCESS;

    arguments->sent.offset = circumstance->send_offset;
    arguments->received.offset = circumstance->recv_offset;
    call->sendbuf = buffers->send + circumstance->send_offset;
    call->recvbuf = buffers->recv + circumstance->recv_offset;
    circumstance->in_place &= may_be_in_place(arguments, world);
    if (circumstance->in_place)
        put_in_place(arguments, size);
    if (!has_room(circumstance->sent, arguments, size, call->sendcount, call->sendcounts))
        circumstance->sent = PL_PLAIN;
    if (!has_room(circumstance->received, arguments, size, call->recvcount, call->recvcounts))
        circumstance->received = PL_PLAIN;
    if (moves && circumstance->sent != PL_PLAIN)
        PL_TRY(make_type(circumstance->sent, size, &call->sendcount, &call->sendtype,
                         &circumstance->made[0], &arguments->sent));
    const int elements = call->recvcount;
    if (circumstance->received != PL_PLAIN)
        PL_TRY(make_type(circumstance->received, size, &call->recvcount, &call->recvtype,
                         &circumstance->made[1], &arguments->received));
    if (!moves) {
        const size_t offset = arguments->sent.offset;
        circumstance->sent = circumstance->received;
        arguments->sent = arguments->received;
        arguments->sent.offset = offset;
        operand.side = arguments->received;
        operand.bytes = circumstance->received == PL_WHOLE ? size * (size_t)elements : size;
    }
out:
    return rc;
}

void pl_circumstance_end(struct pl_circumstance *circumstance)
{
    for (int i = 0; i < 2; i++)
        if (circumstance->made[i] != MPI_DATATYPE_NULL)
            PMPI_Type_free(&circumstance->made[i]);
}

void pl_circumstance_text(const struct pl_circumstance *circumstance, char *text, size_t size)
{
    static const char *const companies[] = {"", ", duplicated communicator",
                                            ", reversed communicator", ", half of the ranks"};
    static const char *const operations[] = {"", ", operation of the program",
                                             ", operation of the program that does not commute"};
    static const char *const layouts[] = {"plain", "with gaps", "packed", "as one element"};
    static const char *const shapes[PL_COUNTS] = {"", ", growing counts", ", all in the last rank",
                                                  ", every other rank empty"};
    size_t used = (size_t)snprintf(text, size, "%s%s%s%s", circumstance->in_place ? ", in place" : "",
                                   companies[circumstance->company],
                                   operations[circumstance->operator],
                                   shapes[circumstance->counts]);
    if (used < size && (circumstance->send_offset > 0 || circumstance->recv_offset > 0))
        used += (size_t)snprintf(text + used, size - used, ", buffers at offsets %zu and %zu",
                                 circumstance->send_offset, circumstance->recv_offset);
    if (used < size && (circumstance->sent != PL_PLAIN || circumstance->received != PL_PLAIN))
        snprintf(text + used, size - used, ", sent %s, received %s", layouts[circumstance->sent],
                 layouts[circumstance->received]);
}
