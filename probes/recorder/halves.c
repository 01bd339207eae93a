/* Calls of collectives: what a rank gives and what it gets are an event each. */
#include "halves.h"

#include <stdlib.h>

static uint8_t number_of(MPI_Op operation)
{
    const MPI_Op known[] = {MPI_OP_NULL, MPI_SUM,    MPI_PROD,   MPI_MAX,     MPI_MIN,
                            MPI_LAND,    MPI_LOR,    MPI_LXOR,   MPI_BAND,    MPI_BOR,
                            MPI_BXOR,    MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    uint8_t number = 0;
    while (number < sizeof known / sizeof *known && known[number] != operation)
        number++;
    return number;
}

bool pl_prepare(struct pl_collective_call *call, bool neighbours)
{
    if (!pl_recording() || call->comm == MPI_COMM_NULL ||
        !(call->member = pl_member_of(call->comm)))
        return false;
    call->sources = call->targets = call->member->size;
    if (call->member->remote_size > 0)
        call->flags |= PL_UNKNOWN_CONTENT;
    if (!neighbours)
        return true;
    call->flags |= PL_NEIGHBOURS;
    int kind, dimensions, weighted;
    PMPI_Topo_test(call->comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(call->comm, &dimensions);
        call->sources = call->targets = 2 * dimensions;
    } else if (kind == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(call->comm, call->member->rank, &call->sources);
        call->targets = call->sources;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(call->comm, &call->sources, &call->targets, &weighted);
    } else {
        call->flags |= PL_UNKNOWN_CONTENT; /* the library will refuse the call */
    }
    return true;
}

static struct pl_slot *half(const struct pl_collective_call *call, enum pl_kind kind,
                            const struct pl_data *data, int32_t site)
{
    const struct pl_what what = {.kind = kind,
                                 .flags = call->flags,
                                 .function = call->function,
                                 .peer = call->root < 0 ? -1 : call->root,
                                 .tag = -1,
                                 .comm = call->comm,
                                 .site = site,
                                 .member = call->member};
    struct pl_slot *slot = pl_begin(&what);
    if (!slot)
        return NULL;
    slot->operation = number_of(call->operation);
    if (kind == PL_INPUT && !(call->flags & PL_UNKNOWN_CONTENT))
        pl_whole(slot, data);
    return slot;
}

struct pl_halves pl_begin_halves(const struct pl_collective_call *call, const struct pl_data *input,
                                 const struct pl_data *output, int32_t site)
{
    struct pl_halves halves;
    halves.input = half(call, PL_INPUT, input, site);
    halves.output = half(call, PL_OUTPUT, output, site);
    pl_post(halves.input, PL_INPUT);
    pl_post(halves.output, PL_OUTPUT);
    return halves;
}

void pl_end_halves(const struct pl_halves *halves, const struct pl_data *output, int rc)
{
    const int64_t at = pl_now();
    pl_end(halves->input, 0, at, rc);
    pl_end(halves->output, 0, at, rc);
    if (halves->output && rc == MPI_SUCCESS && !(halves->output->flags & PL_UNKNOWN_CONTENT))
        pl_whole(halves->output, output);
}

void pl_remember_halves(const struct pl_halves *halves, const struct pl_data *output, int rc,
                        const MPI_Request *request)
{
    const struct pl_pending pending = {.slot = halves->output,
                                       .other = halves->input,
                                       .data = *output,
                                       .receives = true,
                                       .whole = halves->output &&
                                                !(halves->output->flags & PL_UNKNOWN_CONTENT)};
    if (rc == MPI_SUCCESS)
        pl_remember(*request, &pending);
    else
        pl_end_halves(halves, output, rc);
}

/* What a start begins besides the output, whose data are in pl_pending. */
struct pl_persistent {
    struct pl_collective_call call;
    struct pl_data input;
    bool own_type;
};

void pl_remember_collective(const struct pl_collective_call *call, const struct pl_data *input,
                            const struct pl_data *output, int rc, const MPI_Request *request)
{
    struct pl_persistent *collective = rc == MPI_SUCCESS ? malloc(sizeof *collective) : NULL;
    if (!collective)
        return;
    *collective = (struct pl_persistent){.call = *call, .input = *input};
    collective->own_type = pl_keep_type(&collective->input.type);
    const struct pl_pending pending = {.data = *output,
                                       .collective = collective,
                                       .receives = true,
                                       .persistent = true,
                                       .whole = !(call->flags & PL_UNKNOWN_CONTENT)};
    pl_remember(*request, &pending);
}

void pl_start_collective(struct pl_pending *pending, int32_t site)
{
    const struct pl_persistent *collective = pending->collective;
    const struct pl_halves halves =
        pl_begin_halves(&collective->call, &collective->input, &pending->data, site);
    pending->slot = halves.output;
    pending->other = halves.input;
}

void pl_free_collective(struct pl_persistent *collective)
{
    if (collective && collective->own_type)
        PMPI_Type_free(&collective->input.type);
    free(collective);
}
