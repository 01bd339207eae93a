#include "measure/check.h"

#include "measure/data.h"
#include "measure/early.h"
#include "measure/expected.h"
#include "measure/forms.h"
#include "measure/replay.h"
#include "measure/types.h"
#include "pattern/pattern.h"
#include "restrictions.h"
#include "system/facts.h"

#include <stdio.h>
#include <string.h>

const char *pl_outcome_name(enum pl_outcome outcome)
{
    static const char *const names[] = {"ok", "not_in_force", "unsupported", "wrong", "error"};
    return names[outcome];
}

/* What this rank contributes, from the send buffer to where it is in the receive buffer. */
static void put_in_place(const struct pl_arguments *arguments, const struct pl_world *world,
                         size_t size, const unsigned char *from, unsigned char *to)
{
    const enum pl_function function = arguments->call.function;
    const bool joins = function == PL_FN_gather || function == PL_FN_gatherv ||
                       function == PL_FN_allgather || function == PL_FN_allgatherv;
    const long long first =
        joins ? pl_part_start(arguments->shape.total, arguments->shape.parts, world->rank) : 0;
    if (arguments->call.sendbuf == MPI_IN_PLACE)
        memcpy(to + (size_t)first * size, from, arguments->send_bytes);
}

void pl_check_prepare(const struct pl_arguments *arguments, const struct pl_case *c,
                      const struct pl_world *world, const struct pl_buffers *buffers, uint64_t seed)
{
    const size_t size = pl_types[c->type].size, elements = arguments->recv_bytes / size;
    const struct pl_placed *sent = &arguments->sent, *received = &arguments->received;
    struct pl_arguments plain = *arguments;
    unsigned char *out = buffers->send + sent->offset, *in = buffers->recv + received->offset;

    memset(buffers->recv - buffers->guard, PL_UNTOUCHED,
           buffers->guard + received->offset + pl_side_span(received, elements, size) +
               buffers->guard);
    plain.call.sendbuf = out;
    plain.call.recvbuf = in;
    pl_arguments_fill(&plain, c, world, seed);
    if (arguments->in_place)
        put_in_place(arguments, world, size, out, in);
    pl_side_spread(sent, out, arguments->send_bytes / size, size);
    if (arguments->in_place || arguments->shape.inout)
        pl_side_spread(received, in, elements, size);
}

static void hexadecimal(const unsigned char *at, size_t bytes, char text[40])
{
    for (size_t i = 0; i < bytes && i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", at[i]);
}

/* Of the send buffer's memory. */
static size_t sent_bytes(const struct pl_arguments *arguments, size_t width)
{
    return arguments->sent.offset +
           pl_side_span(&arguments->sent, arguments->send_bytes / width, width);
}

enum pl_outcome pl_check_compare(const struct pl_arguments *arguments, const struct pl_case *c,
                                 const struct pl_buffers *buffers, char *detail, size_t size)
{
    const struct pl_shape *shape = &arguments->shape;
    const struct pl_placed *received = &arguments->received;
    const size_t width = pl_types[c->type].size, room = arguments->recv_bytes / width;
    const size_t may_write = shape->significant || shape->undefined ? room : 0;
    const size_t elements = shape->significant ? (size_t)shape->recv : 0;
    const size_t written = pl_side_span(received, may_write, width);
    unsigned char *in = buffers->recv + received->offset;

    if (!pl_untouched(buffers->recv - buffers->guard, buffers->guard + received->offset)) {
        snprintf(detail, size, "wrote before the receive buffer");
        return PL_WRONG;
    }
    if (!pl_untouched(in + written,
                      pl_side_span(received, room, width) - written + buffers->guard)) {
        snprintf(detail, size, "wrote %s",
                 may_write == room ? "past the end of the receive buffer"
                                   : "to the receive buffer, which is not significant here");
        return PL_WRONG;
    }
    if (memcmp(buffers->send, buffers->pristine, sent_bytes(arguments, width)) != 0) {
        snprintf(detail, size, "changed the send buffer");
        return PL_WRONG;
    }
    if (!pl_side_join(received, in, may_write, width)) {
        snprintf(detail, size, "wrote between the elements of the receive buffer");
        return PL_WRONG;
    }
    size_t at = pl_data_compare(in, buffers->reference, elements, c->type, arguments->op,
                                arguments->nprocs);
    if (at == elements)
        return PL_OK;
    char got[40], wanted[40];
    hexadecimal(in + at * width, width, got);
    hexadecimal(buffers->reference + at * width, width, wanted);
    snprintf(detail, size, "element %zu of %zu is 0x%s, not 0x%s (in memory order)", at, elements,
             got, wanted);
    return PL_WRONG;
}

enum pl_outcome pl_check_conclude(enum pl_outcome mine, const struct pl_world *world,
                                  const char *detail, struct pl_finding *finding)
{
    enum pl_outcome outcome = (enum pl_outcome)pl_p2p_agree(world, mine);
    if (outcome == PL_OK)
        return outcome;
    int first =
        world->size - (int)pl_p2p_agree(world, mine == outcome ? world->size - world->rank : 0);
    snprintf(finding->detail, sizeof finding->detail, "rank %d: %s", world->rank, detail);
    pl_p2p_fetch(world, first, finding, (int)sizeof *finding);
    return outcome;
}

static enum pl_outcome look_at_obstacles(const struct pl_case *c, const struct pl_call *call,
                                         char *detail, size_t size)
{
    unsigned obstacles = c->variant ? pl_variant_obstacles(c->variant, call) : 0;
    size_t used = (size_t)snprintf(detail, size, "the variant's restrictions:");
    for (int i = 0; i < pl_restriction_count && used < size; i++)
        if (obstacles & pl_restriction_names[i].restriction)
            used +=
                (size_t)snprintf(detail + used, size - used, " %s", pl_restriction_names[i].name);
    return obstacles ? PL_UNSUPPORTED : PL_OK;
}

/* Whether the result is the same for both. */
static bool same_result(const struct pl_case *a, const struct pl_case *b)
{
    return a->function == b->function && a->operation == b->operation && a->bytes == b->bytes &&
           a->type == b->type && a->op == b->op && a->root == b->root && a->ranks == b->ranks &&
           a->counts == b->counts;
}

int pl_check_refer(struct pl_arguments *arguments, const struct pl_case *c,
                   const struct pl_place *place, const struct pl_buffers *buffers, uint64_t seed)
{
    if (pl_expected_is_cheap(arguments, c))
        return pl_expected(arguments, c, place->world, buffers, seed);
    arguments->call.comm = place->reference;
    pl_check_prepare(arguments, c, place->world, buffers, seed);
    int rc = pl_call_pmpi(&arguments->call);
    memcpy(buffers->reference, buffers->recv, arguments->recv_bytes);
    arguments->call.comm = place->comm;
    return rc;
}

static int call_once(const struct pl_case *c, const struct pl_call *call)
{
    const struct pl_operation *operation = c->operation;
    int rc = operation && operation->begin ? operation->begin(call) : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        rc = c->run(call);
    if (operation && operation->after)
        operation->after();
    if (operation && operation->end)
        operation->end();
    return rc;
}

enum pl_outcome pl_check_call(const struct pl_arguments *arguments, const struct pl_case *c,
                              const struct pl_place *place, const struct pl_buffers *buffers,
                              uint64_t seed, char *detail, size_t size)
{
    const bool waits = c->function == PL_FN_barrier && !c->empty;
    const int late = (int)(seed % (uint64_t)place->world->size);
    char text[MPI_MAX_ERROR_STRING];
    pl_check_prepare(arguments, c, place->world, buffers, seed);
    memcpy(buffers->pristine, buffers->send, sent_bytes(arguments, pl_types[c->type].size));
    const int early = waits ? pl_early_before(place->world, late) : -1;
    pl_config_enter(place->config);
    int rc = call_once(c, &arguments->call);
    pl_persistent_end();
    pl_config_leave(place->config);
    if (waits)
        pl_early_after(place->world, late);
    if (rc == MPI_SUCCESS && early >= 0) {
        snprintf(detail, size, "rank %d had left before this one entered", early);
        return PL_WRONG;
    }
    if (rc == MPI_SUCCESS)
        return pl_check_compare(arguments, c, buffers, detail, size);
    pl_error_text(rc, text);
    snprintf(detail, size, "%.200s", text);
    return PL_ERROR;
}

/* One call. Its right result is known already where the call before was one of the same arguments.
 */
static enum pl_outcome check(const struct pl_case *c, const struct pl_place *place,
                             struct pl_buffers *buffers, uint64_t seed, struct pl_finding *finding)
{
    struct pl_arguments arguments;
    char detail[sizeof finding->detail - 24], text[MPI_MAX_ERROR_STRING];

    /* One agreement serves what the variant thinks of the arguments, and the reference. */
    pl_arguments_set(&arguments, c, place->world, buffers, place->comm);
    enum pl_outcome outcome = look_at_obstacles(c, &arguments.call, detail, sizeof detail);
    const bool known =
        buffers->referred && buffers->referred_seed == seed && same_result(c, buffers->referred);
    int rc = known ? MPI_SUCCESS : pl_check_refer(&arguments, c, place, buffers, seed);
    if (rc != MPI_SUCCESS) {
        outcome = PL_ERROR;
        pl_error_text(rc, text);
        snprintf(detail, sizeof detail, "the library itself: %.200s", text);
    }
    enum pl_outcome all = pl_check_conclude(outcome, place->world, detail, finding);
    buffers->referred = all == PL_ERROR ? NULL : c;
    buffers->referred_seed = seed;
    if (all != PL_OK)
        return all;
    outcome = pl_check_call(&arguments, c, place, buffers, seed, detail, sizeof detail);
    return pl_check_conclude(outcome, place->world, detail, finding);
}

/* Messages come as they were sent; what a rank does with them is not looked at. */
static enum pl_outcome play(const struct pl_case *c, const struct pl_place *place,
                            struct pl_buffers *buffers, uint64_t seed, struct pl_finding *finding)
{
    struct pl_arguments arguments;
    char detail[sizeof finding->detail - 24] = "", text[MPI_MAX_ERROR_STRING];
    int rc;
    (void)seed;
    buffers->referred = NULL;
    pl_arguments_set(&arguments, c, place->world, buffers, place->comm);
    bool right = pl_replay_check(&arguments, place->world, &rc, detail, sizeof detail);
    if (rc != MPI_SUCCESS) {
        pl_error_text(rc, text);
        snprintf(detail, sizeof detail, "%.200s", text);
    }
    return pl_check_conclude(rc != MPI_SUCCESS ? PL_ERROR
                             : right           ? PL_OK
                                               : PL_WRONG,
                             place->world, detail, finding);
}

enum pl_outcome pl_check(const struct pl_case *c, const struct pl_place *place,
                         struct pl_buffers *buffers, uint64_t seed, struct pl_finding *finding)
{
    return (c->messages ? play : check)(c, place, buffers, seed, finding);
}
