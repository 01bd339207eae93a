/* Overlap with a collective: its non-blocking form, computation, Wait, on every rank. Communication
 * alone is the non-blocking form and Wait. */
#include "overlap/collective.h"

#include "immediate.h"
#include "measure/check.h"
#include "measure/types.h"
#include "names.h"
#include "overlap/bench.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pl_case case_of(const struct pl_overlap *cell)
{
    return (struct pl_case){.function = cell->function,
                            .bytes = cell->bytes,
                            .type = pl_names_find(PL_LIST_TYPES, "MPI_BYTE"),
                            .op = pl_names_find(PL_LIST_OPS, "MPI_BOR")};
}

bool pl_collective_open(struct pl_collective *collective, const struct pl_plan *plan,
                        const struct pl_world *world)
{
    int count = 0;
    struct pl_case *cases = calloc((size_t)plan->overlap_count, sizeof *cases);
    *collective = (struct pl_collective){.world = world, .seed = plan->seed};
    for (int i = 0; cases && i < plan->overlap_count; i++)
        if (plan->overlaps[i].bench == &pl_overlap_collective)
            cases[count++] = case_of(&plan->overlaps[i]);
    bool good = !pl_p2p_agree(world, !cases);
    if (good && count > 0)
        good = pl_buffers_open(&collective->buffers, cases, count, world);
    free(cases);
    return good;
}

void pl_collective_close(struct pl_collective *collective)
{
    pl_buffers_close(&collective->buffers);
}

int64_t pl_collective_set(struct pl_collective *collective, const struct pl_overlap *cell,
                          MPI_Comm comm)
{
    struct pl_arguments *arguments = &collective->arguments;
    const char *blocking = pl_function_name(cell->function) + strlen("MPI_");
    collective->begun = case_of(cell);
    snprintf(collective->name, sizeof collective->name, "MPI_I%c%s",
             tolower((unsigned char)blocking[0]), blocking + 1);
    pl_arguments_set(arguments, &collective->begun, collective->world, &collective->buffers, comm);
    return arguments->shape.total * (int64_t)pl_types[collective->begun.type].size;
}

/* The blocking form, past any preload library, leaves what is to come in `reference`. */
static void fill(const struct pl_exchange *exchange)
{
    struct pl_collective *collective = exchange->collective;
    const struct pl_arguments *arguments = &collective->arguments;
    struct pl_buffers *buffers = &collective->buffers;
    pl_check_prepare(arguments, &collective->begun, collective->world, buffers, collective->seed);
    pl_call_pmpi(&arguments->call);
    memcpy(buffers->reference, buffers->recv, arguments->recv_bytes);
    pl_check_prepare(arguments, &collective->begun, collective->world, buffers, collective->seed);
    memcpy(buffers->pristine, buffers->send, arguments->send_bytes);
}

static bool holds(const struct pl_exchange *exchange)
{
    const struct pl_collective *collective = exchange->collective;
    char detail[200];
    return pl_check_compare(&collective->arguments, &collective->begun, &collective->buffers,
                            detail, sizeof detail) == PL_OK;
}

static int64_t active(const struct pl_exchange *exchange)
{
    const struct pl_call *call = &exchange->collective->arguments.call;
    int64_t begin = exchange->clock->now_ns();
    int64_t event = pl_trace_start(exchange->trace);
    pl_immediate_start(call, exchange->pending);
    pl_trace_stop(exchange->trace, exchange->collective->name, -1, event);
    if (exchange->part == PL_PART_BOTH)
        pl_compute(exchange, exchange->pending, 1);
    pl_wait(exchange, exchange->pending, 1);
    return exchange->clock->now_ns() - begin;
}

const struct pl_bench pl_overlap_collective = {
    .name = "collective",
    .summary = "every rank computes between a non-blocking collective and Wait",
    .players = PL_ALL_ACTIVE,
    .halves = 1,
    .active = active,
    .fill = fill,
    .holds = holds,
};
