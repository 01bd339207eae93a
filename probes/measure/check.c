#include "measure/check.h"

#include "measure/data.h"
#include "measure/types.h"
#include "restrictions.h"
#include "system/facts.h"

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
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != UNTOUCHED)
            return false;
    return true;
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
    snprintf(detail, size, "element %zu of %zu is 0x%s, the library's is 0x%s (in memory order)",
             at, elements, got, wanted);
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

/* Whether the library's own result is the same for both. */
static bool same_result(const struct pl_case *a, const struct pl_case *b)
{
    return a->function == b->function && a->bytes == b->bytes && a->type == b->type &&
           a->op == b->op && a->root == b->root && a->ranks == b->ranks;
}

/* On the ranks of the case; with config `default`, the library computes on `reference`, unless the
 * case before was one of the same arguments. */
static enum pl_outcome check(const struct pl_case *c, const struct pl_config_state *config,
                             MPI_Comm comm, MPI_Comm reference, const struct pl_world *world,
                             struct pl_buffers *buffers, uint64_t seed, struct pl_finding *finding)
{
    struct pl_arguments arguments;
    char detail[sizeof finding->detail - 24], text[MPI_MAX_ERROR_STRING];
    enum pl_outcome outcome;

    if (!config->in_force) {
        snprintf(finding->detail, sizeof finding->detail, "%.300s", config->reason);
        return PL_NOT_IN_FORCE;
    }
    if (c->empty)
        return PL_OK;
    /* Whatever the variant thinks of the arguments, the library computes the reference: one
     * agreement serves both. */
    pl_arguments_set(&arguments, c, world, buffers, comm);
    outcome = look_at_obstacles(c, &arguments.call, detail, sizeof detail);
    arguments.call.comm = reference;
    int rc = MPI_SUCCESS;
    const bool known = buffers->referred && same_result(c, buffers->referred);
    if (!known) {
        pl_check_prepare(&arguments, c, world, buffers, seed);
        rc = pl_call_pmpi(&arguments.call);
        memcpy(buffers->reference, buffers->recv, arguments.recv_bytes);
    }
    if (rc != MPI_SUCCESS) {
        outcome = PL_ERROR;
        pl_error_text(rc, text);
        snprintf(detail, sizeof detail, "the library itself: %.200s", text);
    }
    enum pl_outcome all = conclude(outcome, world, detail, finding);
    buffers->referred = all == PL_ERROR ? NULL : c;
    if (all != PL_OK)
        return all;

    arguments.call.comm = comm;
    pl_check_prepare(&arguments, c, world, buffers, seed);
    memcpy(buffers->pristine, buffers->send, arguments.send_bytes);
    pl_config_enter(config);
    rc = c->run(&arguments.call);
    pl_config_leave(config);
    if (rc == MPI_SUCCESS) {
        outcome = pl_check_compare(&arguments, c, buffers, detail, sizeof detail);
    } else {
        pl_error_text(rc, text);
        snprintf(detail, sizeof detail, "%.200s", text);
        outcome = PL_ERROR;
    }
    return conclude(outcome, world, detail, finding);
}

enum pl_outcome pl_check(const struct pl_case *c, const struct pl_config_state *config,
                         const struct pl_groups *groups, struct pl_buffers *buffers, uint64_t seed,
                         struct pl_finding *finding)
{
    enum pl_outcome outcome = PL_OK;
    int index = pl_groups_of(groups, c);
    const struct pl_group *group = &groups->group[index];

    *finding = (struct pl_finding){""};
    if (pl_groups_enter(groups, index)) {
        outcome = check(c, config, config->comms[index], group->comm, &group->world, buffers, seed,
                        finding);
        pl_groups_leave(groups, index);
    } else {
        buffers->referred = NULL; /* as for those who were there */
    }
    if (group->ranks > 0)
        pl_p2p_broadcast(groups->world, &outcome, (int)sizeof outcome);
    return outcome;
}
