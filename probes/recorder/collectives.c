/* Collectives: what a rank gives and what it gets are an event each. The functions with
 * MPI_Request begin the same, and end when their request does. */
#include "recorder.h"

struct halves {
    struct pl_slot *input, *output;
};

/* What all ranks but for their data say of a call. */
struct call {
    enum pl_begins function;
    uint32_t flags;
    int root;
    MPI_Op operation;
    MPI_Comm comm;
    const struct pl_member *member; /* of `comm`, and ranks of the call below */
    int sources, targets;           /* ranks that this one gets parts from, and gives parts to */
};

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

/* False where the call is not recorded. */
static bool prepare(struct call *call, bool neighbours)
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

static struct pl_slot *half(const struct call *call, enum pl_kind kind, const struct pl_data *data,
                            int32_t site)
{
    const struct pl_what what = {.kind = kind,
                                 .flags = call->flags,
                                 .function = call->function,
                                 .peer = call->root < 0 ? -1 : call->root,
                                 .tag = -1,
                                 .comm = call->comm,
                                 .site = site};
    struct pl_slot *slot = pl_begin(&what);
    if (!slot)
        return NULL;
    slot->operation = number_of(call->operation);
    if (kind == PL_INPUT && !(call->flags & PL_UNKNOWN_CONTENT))
        pl_whole(slot, data);
    return slot;
}

static struct halves begin(const struct call *call, const struct pl_data *input,
                           const struct pl_data *output, int32_t site)
{
    struct halves halves;
    halves.input = half(call, PL_INPUT, input, site);
    halves.output = half(call, PL_OUTPUT, output, site);
    pl_post(halves.input, PL_INPUT);
    pl_post(halves.output, PL_OUTPUT);
    return halves;
}

static void end(const struct halves *halves, const struct pl_data *output, int rc)
{
    const int64_t at = pl_now();
    pl_end(halves->input, 0, at, rc);
    pl_end(halves->output, 0, at, rc);
    if (halves->output && rc == MPI_SUCCESS && !(halves->output->flags & PL_UNKNOWN_CONTENT))
        pl_whole(halves->output, output);
}

static void remember(const struct halves *halves, const struct pl_data *output, int rc,
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
        end(halves, output, rc);
}

/* --- data of calls --- */

static struct pl_data none(void)
{
    return (struct pl_data){.type = MPI_BYTE};
}

static struct pl_data plain(const void *buffer, MPI_Count count, MPI_Datatype type)
{
    return count < 0 ? none() : (struct pl_data){.buffer = buffer, .count = count, .type = type};
}

static struct pl_data blocks(const void *buffer, MPI_Count count, MPI_Datatype type, int number)
{
    return plain(buffer, count * number, type);
}

static struct pl_data vector(const void *buffer, const int counts[], const int displs[],
                             MPI_Datatype type, int number)
{
    return (struct pl_data){
        .buffer = buffer, .type = type, .blocks = number, .counts = counts, .displs = displs};
}

/* Elements that lie so many elements behind the buffer. */
static struct pl_data behind(const void *buffer, MPI_Count displacement, MPI_Count count,
                             MPI_Datatype type)
{
    const struct pl_datatype *known = pl_type_of(type);
    return plain((const char *)buffer + (known ? displacement * known->extent : 0), count, type);
}

static MPI_Count sum(const int counts[], int number)
{
    MPI_Count total = 0;
    for (int i = 0; i < number; i++)
        total += counts[i];
    return total;
}

#define RANK call.member->rank
#define SIZE call.member->size
#define IS_ROOT (RANK == root)
#define IN_PLACE(buffer) ((buffer) == MPI_IN_PLACE)

/* A function and its twin with a request. What the root alone may look at is in `input` and
 * `output`, which are asked for once the call is known to be recorded. */
#define COLLECTIVE(name, PARAMETERS, GIVEN, in_place, ROOT, OP, near, INPUT, OUTPUT)               \
    EXPORT int MPI_##name PARAMETERS()                                                             \
    {                                                                                              \
        struct call call = {.function = PL_BEGINS_##name,                                          \
                            .flags = (in_place) ? PL_IN_PLACE : 0,                                 \
                            .root = ROOT,                                                          \
                            .operation = OP,                                                       \
                            .comm = comm};                                                         \
        if (!prepare(&call, near))                                                                 \
            return PMPI_##name GIVEN();                                                            \
        const bool known = !(call.flags & PL_UNKNOWN_CONTENT);                                     \
        const struct pl_data input = known ? INPUT : none(), output = known ? OUTPUT : none();     \
        const struct halves halves = begin(&call, &input, &output, PL_SITE);                       \
        const int rc = PMPI_##name GIVEN();                                                        \
        end(&halves, &output, rc);                                                                 \
        return rc;                                                                                 \
    }                                                                                              \
    EXPORT int TWIN(name) PARAMETERS(, MPI_Request *request)                                       \
    {                                                                                              \
        struct call call = {.function = BEGINS_TWIN(name),                                         \
                            .flags = PL_NONBLOCKING | ((in_place) ? PL_IN_PLACE : 0),              \
                            .root = ROOT,                                                          \
                            .operation = OP,                                                       \
                            .comm = comm};                                                         \
        if (!prepare(&call, near))                                                                 \
            return INNER_TWIN(name) GIVEN(, request);                                              \
        const bool known = !(call.flags & PL_UNKNOWN_CONTENT);                                     \
        const struct pl_data input = known ? INPUT : none(), output = known ? OUTPUT : none();     \
        const struct halves halves = begin(&call, &input, &output, PL_SITE);                       \
        const int rc = INNER_TWIN(name) GIVEN(, request);                                          \
        remember(&halves, &output, rc, request);                                                   \
        return rc;                                                                                 \
    }

#define TWIN(name) TWIN_OF_##name(MPI_)
#define INNER_TWIN(name) TWIN_OF_##name(PMPI_)
#define BEGINS_TWIN(name) TWIN_OF_##name(PL_BEGINS_)
#define TWIN_OF_Barrier(prefix) prefix##Ibarrier
#define TWIN_OF_Bcast(prefix) prefix##Ibcast
#define TWIN_OF_Gather(prefix) prefix##Igather
#define TWIN_OF_Gatherv(prefix) prefix##Igatherv
#define TWIN_OF_Scatter(prefix) prefix##Iscatter
#define TWIN_OF_Scatterv(prefix) prefix##Iscatterv
#define TWIN_OF_Allgather(prefix) prefix##Iallgather
#define TWIN_OF_Allgatherv(prefix) prefix##Iallgatherv
#define TWIN_OF_Alltoall(prefix) prefix##Ialltoall
#define TWIN_OF_Alltoallv(prefix) prefix##Ialltoallv
#define TWIN_OF_Reduce(prefix) prefix##Ireduce
#define TWIN_OF_Allreduce(prefix) prefix##Iallreduce
#define TWIN_OF_Reduce_scatter(prefix) prefix##Ireduce_scatter
#define TWIN_OF_Reduce_scatter_block(prefix) prefix##Ireduce_scatter_block
#define TWIN_OF_Scan(prefix) prefix##Iscan
#define TWIN_OF_Exscan(prefix) prefix##Iexscan
#define TWIN_OF_Neighbor_allgather(prefix) prefix##Ineighbor_allgather
#define TWIN_OF_Neighbor_allgatherv(prefix) prefix##Ineighbor_allgatherv
#define TWIN_OF_Neighbor_alltoall(prefix) prefix##Ineighbor_alltoall
#define TWIN_OF_Neighbor_alltoallv(prefix) prefix##Ineighbor_alltoallv

#define SEND const void *sendbuf, int sendcount, MPI_Datatype sendtype
#define SENDV                                                                                      \
    const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype
#define RECV void *recvbuf, int recvcount, MPI_Datatype recvtype
#define RECVV void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype
#define REDUCED const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op
#define LAST MPI_Comm comm

/* clang-format off */
#define P_BARRIER(...) (MPI_Comm comm __VA_ARGS__)
#define G_BARRIER(...) (comm __VA_ARGS__)
COLLECTIVE(Barrier, P_BARRIER, G_BARRIER, false, -1, MPI_OP_NULL, false, none(), none())

#define P_BCAST(...) (void *buffer, int count, MPI_Datatype type, int root, LAST __VA_ARGS__)
#define G_BCAST(...) (buffer, count, type, root, comm __VA_ARGS__)
COLLECTIVE(Bcast, P_BCAST, G_BCAST, false, root, MPI_OP_NULL, false,
           IS_ROOT ? plain(buffer, count, type) : none(), plain(buffer, count, type))

#define P_ROOTED(...) (SEND, RECV, int root, LAST __VA_ARGS__)
#define G_ROOTED(...)                                                                              \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm __VA_ARGS__)
COLLECTIVE(Gather, P_ROOTED, G_ROOTED, IN_PLACE(sendbuf), root, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? behind(recvbuf, (MPI_Count)RANK * recvcount, recvcount, recvtype)
                             : plain(sendbuf, sendcount, sendtype),
           IS_ROOT ? blocks(recvbuf, recvcount, recvtype, SIZE) : none())
COLLECTIVE(Scatter, P_ROOTED, G_ROOTED, IN_PLACE(recvbuf), root, MPI_OP_NULL, false,
           IS_ROOT ? blocks(sendbuf, sendcount, sendtype, SIZE) : none(),
           IN_PLACE(recvbuf) ? behind(sendbuf, (MPI_Count)RANK * sendcount, sendcount, sendtype)
                             : plain(recvbuf, recvcount, recvtype))

#define P_GATHERV(...) (SEND, RECVV, int root, LAST __VA_ARGS__)
#define G_GATHERV(...)                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, root, comm __VA_ARGS__)
COLLECTIVE(Gatherv, P_GATHERV, G_GATHERV, IN_PLACE(sendbuf), root, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? behind(recvbuf, rdispls[RANK], recvcounts[RANK], recvtype)
                             : plain(sendbuf, sendcount, sendtype),
           IS_ROOT ? vector(recvbuf, recvcounts, rdispls, recvtype, SIZE) : none())

#define P_SCATTERV(...) (SENDV, RECV, int root, LAST __VA_ARGS__)
#define G_SCATTERV(...)                                                                            \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, comm __VA_ARGS__)
COLLECTIVE(Scatterv, P_SCATTERV, G_SCATTERV, IN_PLACE(recvbuf), root, MPI_OP_NULL, false,
           IS_ROOT ? vector(sendbuf, sendcounts, sdispls, sendtype, SIZE) : none(),
           IN_PLACE(recvbuf) ? behind(sendbuf, sdispls[RANK], sendcounts[RANK], sendtype)
                             : plain(recvbuf, recvcount, recvtype))

#define P_BLOCKS(...) (SEND, RECV, LAST __VA_ARGS__)
#define G_BLOCKS(...)                                                                              \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm __VA_ARGS__)
COLLECTIVE(Allgather, P_BLOCKS, G_BLOCKS, IN_PLACE(sendbuf), -1, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? behind(recvbuf, (MPI_Count)RANK * recvcount, recvcount, recvtype)
                             : plain(sendbuf, sendcount, sendtype),
           blocks(recvbuf, recvcount, recvtype, SIZE))
COLLECTIVE(Alltoall, P_BLOCKS, G_BLOCKS, IN_PLACE(sendbuf), -1, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? blocks(recvbuf, recvcount, recvtype, SIZE)
                             : blocks(sendbuf, sendcount, sendtype, SIZE),
           blocks(recvbuf, recvcount, recvtype, SIZE))
COLLECTIVE(Neighbor_allgather, P_BLOCKS, G_BLOCKS, false, -1, MPI_OP_NULL, true,
           plain(sendbuf, sendcount, sendtype), blocks(recvbuf, recvcount, recvtype, call.sources))
COLLECTIVE(Neighbor_alltoall, P_BLOCKS, G_BLOCKS, false, -1, MPI_OP_NULL, true,
           blocks(sendbuf, sendcount, sendtype, call.targets),
           blocks(recvbuf, recvcount, recvtype, call.sources))

#define P_ALLGATHERV(...) (SEND, RECVV, LAST __VA_ARGS__)
#define G_ALLGATHERV(...)                                                                          \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm __VA_ARGS__)
COLLECTIVE(Allgatherv, P_ALLGATHERV, G_ALLGATHERV, IN_PLACE(sendbuf), -1, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? behind(recvbuf, rdispls[RANK], recvcounts[RANK], recvtype)
                             : plain(sendbuf, sendcount, sendtype),
           vector(recvbuf, recvcounts, rdispls, recvtype, SIZE))
COLLECTIVE(Neighbor_allgatherv, P_ALLGATHERV, G_ALLGATHERV, false, -1, MPI_OP_NULL, true,
           plain(sendbuf, sendcount, sendtype),
           vector(recvbuf, recvcounts, rdispls, recvtype, call.sources))

#define P_ALLTOALLV(...) (SENDV, RECVV, LAST __VA_ARGS__)
#define G_ALLTOALLV(...)                                                                           \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,               \
     comm __VA_ARGS__)
COLLECTIVE(Alltoallv, P_ALLTOALLV, G_ALLTOALLV, IN_PLACE(sendbuf), -1, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? vector(recvbuf, recvcounts, rdispls, recvtype, SIZE)
                             : vector(sendbuf, sendcounts, sdispls, sendtype, SIZE),
           vector(recvbuf, recvcounts, rdispls, recvtype, SIZE))
COLLECTIVE(Neighbor_alltoallv, P_ALLTOALLV, G_ALLTOALLV, false, -1, MPI_OP_NULL, true,
           vector(sendbuf, sendcounts, sdispls, sendtype, call.targets),
           vector(recvbuf, recvcounts, rdispls, recvtype, call.sources))

#define P_REDUCE(...) (REDUCED, int root, LAST __VA_ARGS__)
#define G_REDUCE(...) (sendbuf, recvbuf, count, type, op, root, comm __VA_ARGS__)
COLLECTIVE(Reduce, P_REDUCE, G_REDUCE, IN_PLACE(sendbuf), root, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type),
           IS_ROOT ? plain(recvbuf, count, type) : none())

#define P_REDUCED(...) (REDUCED, LAST __VA_ARGS__)
#define G_REDUCED(...) (sendbuf, recvbuf, count, type, op, comm __VA_ARGS__)
COLLECTIVE(Allreduce, P_REDUCED, G_REDUCED, IN_PLACE(sendbuf), -1, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type), plain(recvbuf, count, type))
COLLECTIVE(Scan, P_REDUCED, G_REDUCED, IN_PLACE(sendbuf), -1, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type), plain(recvbuf, count, type))
COLLECTIVE(Exscan, P_REDUCED, G_REDUCED, IN_PLACE(sendbuf), -1, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type),
           RANK == 0 ? none() : plain(recvbuf, count, type))
COLLECTIVE(Reduce_scatter_block, P_REDUCED, G_REDUCED, IN_PLACE(sendbuf), -1, op, false,
           blocks(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type, SIZE),
           plain(recvbuf, count, type))

#define P_REDUCE_SCATTER(...)                                                                      \
    (const void *sendbuf, void *recvbuf, const int counts[], MPI_Datatype type, MPI_Op op,         \
     LAST __VA_ARGS__)
#define G_REDUCE_SCATTER(...) (sendbuf, recvbuf, counts, type, op, comm __VA_ARGS__)
COLLECTIVE(Reduce_scatter, P_REDUCE_SCATTER, G_REDUCE_SCATTER, IN_PLACE(sendbuf), -1, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, sum(counts, SIZE), type),
           plain(recvbuf, counts[RANK], type))
/* clang-format on */

/* Each part may have a type of its own: its data are not looked at. */
EXPORT int MPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[],
                         const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                         const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct call call = {.function = PL_BEGINS_Alltoallw,
                        .flags = PL_UNKNOWN_CONTENT,
                        .root = -1,
                        .operation = MPI_OP_NULL,
                        .comm = comm};
    const struct pl_data data = none();
    struct halves halves = {0};
    if (prepare(&call, false))
        halves = begin(&call, &data, &data, PL_SITE);
    const int rc = PMPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                  rdispls, recvtypes, comm);
    end(&halves, &data, rc);
    return rc;
}
