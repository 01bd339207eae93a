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

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNTOUCHED 0xA5

const char *pl_outcome_name(enum pl_outcome outcome)
{
    static const char *const names[] = {"ok", "not_in_force", "unsupported", "wrong", "error"};
    return names[outcome];
}

void pl_check_prepare(const struct pl_arguments *arguments, const struct pl_case *c,
                      const struct pl_world *world, const struct pl_buffers *buffers, uint64_t seed)
{
    memset(buffers->recv - buffers->guard, UNTOUCHED,
           buffers->guard + arguments->recv_bytes + buffers->guard);
    pl_arguments_fill(arguments, c, world, seed);
}

static bool untouched(const unsigned char *at, size_t bytes)
{
    return bytes == 0 || (at[0] == UNTOUCHED && memcmp(at, at + 1, bytes - 1) == 0);
}

static void hexadecimal(const unsigned char *at, size_t bytes, char text[40])
{
    for (size_t i = 0; i < bytes && i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", at[i]);
}

enum pl_outcome pl_check_compare(const struct pl_arguments *arguments, const struct pl_case *c,
                                 const struct pl_buffers *buffers, char *detail, size_t size)
{
    const struct pl_shape *shape = &arguments->shape;
    size_t may_write = shape->significant || shape->undefined ? arguments->recv_bytes : 0;
    size_t elements = shape->significant ? (size_t)shape->recv : 0;

    if (!untouched(buffers->recv - buffers->guard, buffers->guard)) {
        snprintf(detail, size, "wrote before the receive buffer");
        return PL_WRONG;
    }
    if (!untouched(buffers->recv + may_write, arguments->recv_bytes - may_write + buffers->guard)) {
        snprintf(detail, size, "wrote %s",
                 may_write == arguments->recv_bytes
                     ? "past the end of the receive buffer"
                     : "to the receive buffer, which is not significant here");
        return PL_WRONG;
    }
    if (memcmp(buffers->send, buffers->pristine, arguments->send_bytes) != 0) {
        snprintf(detail, size, "changed the send buffer");
        return PL_WRONG;
    }
    size_t at = pl_data_compare(buffers->recv, buffers->reference, elements, c->type, arguments->op,
                                arguments->nprocs);
    if (at == elements)
        return PL_OK;
    size_t width = pl_types[c->type].size;
    char got[40], wanted[40];
    hexadecimal(buffers->recv + at * width, width, got);
    hexadecimal(buffers->reference + at * width, width, wanted);
    snprintf(detail, size, "element %zu of %zu is 0x%s, not 0x%s (in memory order)", at, elements,
             got, wanted);
    return PL_WRONG;
}

/* All ranks learn the gravest outcome, rank 0 the detail of the first rank that has it. */
static enum pl_outcome conclude(enum pl_outcome mine, const struct pl_world *world,
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
           a->type == b->type && a->op == b->op && a->root == b->root && a->ranks == b->ranks;
}

/* A case on the ranks that it runs on. */
struct place {
    const struct pl_config_state *config;
    MPI_Comm comm, reference; /* of the config, and the library's own */
    const struct pl_world *world;
};

/* The right result to buffers->reference. Where this rank cannot compute it alone, the library does
 * with config `default`, whatever the variant thinks of the arguments. Returns an MPI error. */
static int refer(struct pl_arguments *arguments, const struct pl_case *c, const struct place *place,
                 const struct pl_buffers *buffers, uint64_t seed)
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

/* The call itself, and what came of it on this rank. */
static enum pl_outcome call(const struct pl_arguments *arguments, const struct pl_case *c,
                            const struct place *place, const struct pl_buffers *buffers,
                            uint64_t seed, char *detail, size_t size)
{
    const bool waits = c->function == PL_FN_barrier && !c->empty;
    const int late = (int)(seed % (uint64_t)place->world->size);
    char text[MPI_MAX_ERROR_STRING];
    pl_check_prepare(arguments, c, place->world, buffers, seed);
    memcpy(buffers->pristine, buffers->send, arguments->send_bytes);
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
static enum pl_outcome check(const struct pl_case *c, const struct place *place,
                             struct pl_buffers *buffers, uint64_t seed, struct pl_finding *finding)
{
    struct pl_arguments arguments;
    char detail[sizeof finding->detail - 24], text[MPI_MAX_ERROR_STRING];

    /* One agreement serves what the variant thinks of the arguments, and the reference. */
    pl_arguments_set(&arguments, c, place->world, buffers, place->comm);
    enum pl_outcome outcome = look_at_obstacles(c, &arguments.call, detail, sizeof detail);
    const bool known =
        buffers->referred && buffers->referred_seed == seed && same_result(c, buffers->referred);
    int rc = known ? MPI_SUCCESS : refer(&arguments, c, place, buffers, seed);
    if (rc != MPI_SUCCESS) {
        outcome = PL_ERROR;
        pl_error_text(rc, text);
        snprintf(detail, sizeof detail, "the library itself: %.200s", text);
    }
    enum pl_outcome all = conclude(outcome, place->world, detail, finding);
    buffers->referred = all == PL_ERROR ? NULL : c;
    buffers->referred_seed = seed;
    if (all != PL_OK)
        return all;
    outcome = call(&arguments, c, place, buffers, seed, detail, sizeof detail);
    return conclude(outcome, place->world, detail, finding);
}

/* The volume of a call of a trial: of every count in turn, where there are calls for all; else the
 * ends, and draws from between them, half of them even and half even on a logarithmic scale. As
 * many as c->mean allows are from the whole range, the others up to that. */
static long long draw_bytes(struct pl_random *random, const struct pl_case *c, int ranks,
                            int number)
{
    const size_t size = pl_types[c->type].size;
    const long long whole = c->bytes - c->least;
    const long long step =
        pl_shape_of(c->function, 1, size, ranks, 0, 0).total * (long long)size; /* Barrier: 0 */

    if (step == 0)
        return c->bytes;
    if (whole / step < c->calls)
        return c->least + number % (whole / step + 1) * step;
    if (number < 2)
        return number == 0 ? c->least : c->bytes;
    const bool wide = pl_random_unit(random) * (double)c->bytes < (double)c->mean;
    const long long span = wide ? whole : c->mean - c->least;
    double at = pl_random_unit(random);
    if (number % 2 == 0)
        return c->least + (long long)(at * (double)(span + 1));
    return c->least + (long long)pow((double)(span + 1), at) - 1;
}

/* All calls of a trial, each with other data, another volume and, where there is one, another root.
 * Ranks agree once, after the last: what went wrong first on a rank is its finding. */
static enum pl_outcome try_out(const struct pl_case *c, const struct place *place,
                               struct pl_buffers *buffers, uint64_t seed,
                               struct pl_finding *finding)
{
    struct pl_random random = pl_random_stream(seed, UINT64_MAX, (uint64_t)c->id);
    char detail[sizeof finding->detail - 24] = "", said[160];
    enum pl_outcome worst = PL_OK;

    buffers->referred = NULL;
    for (int i = 0; i < c->calls; i++) {
        struct pl_arguments arguments;
        struct pl_case one = *c;
        one.bytes = draw_bytes(&random, c, place->world->size, i);
        if (pl_function_has_root(c->function))
            one.root = (int)pl_random_below(&random, (uint64_t)place->world->size);
        uint64_t fresh = pl_random_next(&random);
        pl_arguments_set(&arguments, &one, place->world, buffers, place->comm);
        if (look_at_obstacles(&one, &arguments.call, said, sizeof said) != PL_OK)
            continue; /* on all ranks: no call to be wrong */
        enum pl_outcome outcome = PL_ERROR;
        if (refer(&arguments, &one, place, buffers, fresh) == MPI_SUCCESS)
            outcome = call(&arguments, &one, place, buffers, fresh, said, sizeof said);
        else
            snprintf(said, sizeof said, "the library itself failed");
        if (outcome > worst) {
            worst = outcome;
            snprintf(detail, sizeof detail, "call %d of %d, %lld B, root %d: %s", i + 1, c->calls,
                     one.bytes, one.root, said);
        }
    }
    return conclude(worst, place->world, detail, finding);
}

/* Messages come as they were sent; what a rank does with them is not looked at. */
static enum pl_outcome play(const struct pl_case *c, const struct place *place,
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
    return conclude(rc != MPI_SUCCESS ? PL_ERROR
                    : right           ? PL_OK
                                      : PL_WRONG,
                    place->world, detail, finding);
}

enum pl_outcome pl_check(const struct pl_case *c, const struct pl_config_state *config,
                         const struct pl_groups *groups, struct pl_buffers *buffers, uint64_t seed,
                         struct pl_finding *finding)
{
    enum pl_outcome outcome = PL_OK;
    int index = pl_groups_of(groups, c);
    const struct pl_group *group = &groups->group[index];

    *finding = (struct pl_finding){""};
    if (!pl_groups_enter(groups, index)) {
        buffers->referred = NULL; /* as for those who were there */
    } else {
        const struct place place = {config, config->comms[index], group->comm, &group->world};
        if (!config->in_force) {
            snprintf(finding->detail, sizeof finding->detail, "%.300s", config->reason);
            outcome = PL_NOT_IN_FORCE;
        } else if (!c->empty) {
            outcome = (c->calls      ? try_out
                       : c->messages ? play
                                     : check)(c, &place, buffers, seed, finding);
        }
        pl_groups_leave(groups, index);
    }
    if (group->ranks > 0)
        pl_p2p_broadcast(groups->world, &outcome, (int)sizeof outcome);
    return outcome;
}
