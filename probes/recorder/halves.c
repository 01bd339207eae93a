/* Calls of collectives: what a rank gives and what it gets are an event each. */
#include "halves.h"

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
