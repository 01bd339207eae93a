/* The functions that are collectives: blocking, with a request, persistent, and with MPI_Count. */
#include "halves.h"
#include "shapes.h"

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

/* `large`: counts are MPI_Count, displacements MPI_Aint; else both are int. */
static struct pl_data blocks_at(const void *buffer, const void *counts, const void *displs,
                                MPI_Datatype type, int number, bool large)
{
    return (struct pl_data){.buffer = buffer,
                            .type = type,
                            .blocks = number,
                            .large = large,
                            .counts = counts,
                            .displs = displs};
}
#define IS_LARGE(counts) (sizeof *(counts) == sizeof(MPI_Count))
#define vector(buffer, counts, displs, type, number)                                               \
    blocks_at(buffer, counts, displs, type, number, IS_LARGE(counts))

/* Elements that lie so many elements behind the buffer. */
static struct pl_data behind(const void *buffer, MPI_Count displacement, MPI_Count count,
                             MPI_Datatype type)
{
    const struct pl_datatype *known = pl_type_of(type);
    return plain((const char *)buffer + (known ? displacement * known->extent : 0), count, type);
}

static MPI_Count total(const void *counts, int number, bool large)
{
    MPI_Count sum = 0;
    for (int i = 0; i < number; i++)
        sum += pl_number_at(counts, i, large);
    return sum;
}

#define RANK call.member->rank
#define SIZE call.member->size
#define IS_ROOT (RANK == root)
#define IN_PLACE(buffer) ((buffer) == MPI_IN_PLACE)

/* What the root alone may look at is in `input` and `output`, which are asked for once the call is
 * known to be recorded. */
#define CALL(begins, form, FLAGS, ROOT, OP)                                                        \
    struct pl_collective_call call = {.function = begins,                                          \
                                      .flags = (form) | (FLAGS),                                   \
                                      .root = ROOT,                                                \
                                      .operation = OP,                                             \
                                      .comm = comm}
#define DATA(INPUT, OUTPUT)                                                                        \
    const bool known = !(call.flags & PL_UNKNOWN_CONTENT);                                         \
    const struct pl_data input = known ? INPUT : none(), output = known ? OUTPUT : none()

/* A function, its form with a request, and the persistent one. */
#define BLOCKING(name, end, PARAMETERS, GIVEN, FLAGS, ROOT, OP, near, INPUT, OUTPUT)               \
    EXPORT int MPI_##name##end PARAMETERS                                                          \
    {                                                                                              \
        CALL(PL_BEGINS_##name, 0, FLAGS, ROOT, OP);                                                \
        if (!pl_prepare(&call, near))                                                              \
            return PMPI_##name##end GIVEN;                                                         \
        DATA(INPUT, OUTPUT);                                                                       \
        const struct pl_halves halves = pl_begin_halves(&call, &input, &output, PL_SITE);          \
        const int rc = PMPI_##name##end GIVEN;                                                     \
        pl_end_halves(&halves, &output, rc);                                                       \
        return rc;                                                                                 \
    }
#define WITH_REQUEST(name, begun, end, PARAMETERS, GIVEN, FLAGS, ROOT, OP, near, INPUT, OUTPUT)    \
    EXPORT int MPI_##begun##end PARAMETERS                                                         \
    {                                                                                              \
        CALL(PL_BEGINS_##begun, PL_NONBLOCKING, FLAGS, ROOT, OP);                                  \
        if (!pl_prepare(&call, near))                                                              \
            return PMPI_##begun##end GIVEN;                                                        \
        DATA(INPUT, OUTPUT);                                                                       \
        const struct pl_halves halves = pl_begin_halves(&call, &input, &output, PL_SITE);          \
        const int rc = PMPI_##begun##end GIVEN;                                                    \
        pl_remember_halves(&halves, &output, rc, request);                                         \
        return rc;                                                                                 \
    }
#define PERSISTENT(name, end, PARAMETERS, GIVEN, FLAGS, ROOT, OP, near, INPUT, OUTPUT)             \
    EXPORT int MPI_##name##_init##end PARAMETERS                                                   \
    {                                                                                              \
        CALL(PL_BEGINS_##name##_init, PL_NONBLOCKING | PL_PERSISTENT, FLAGS, ROOT, OP);            \
        const int rc = PMPI_##name##_init##end GIVEN;                                              \
        if (pl_prepare(&call, near)) {                                                             \
            DATA(INPUT, OUTPUT);                                                                   \
            pl_remember_collective(&call, &input, &output, rc, request);                           \
        }                                                                                          \
        return rc;                                                                                 \
    }

#define FORMS(name, begun, end, Count, Displ, PARAMETERS, GIVEN, ...)                              \
    BLOCKING(name, end, PARAMETERS(Count, Displ, ), GIVEN(), __VA_ARGS__)                          \
    WITH_REQUEST(name, begun, end, PARAMETERS(Count, Displ, , MPI_Request *request),               \
                 GIVEN(, request), __VA_ARGS__)                                                    \
    IF_PERSISTENT(PERSISTENT(name, end,                                                            \
                             PARAMETERS(Count, Displ, , MPI_Info info, MPI_Request *request),      \
                             GIVEN(, info, request), __VA_ARGS__))

#ifdef PL_PARTITIONS
#define IF_PERSISTENT(...) __VA_ARGS__
#else
#define IF_PERSISTENT(...)
#endif
#ifdef PL_LARGE_COUNTS
#define IF_LARGE(...) __VA_ARGS__
#else
#define IF_LARGE(...)
#endif
#define COLLECTIVE(name, begun, SHAPE, ...)                                                        \
    FORMS(name, begun, , int, int, PL_P_##SHAPE, PL_G_##SHAPE, __VA_ARGS__)                        \
    IF_LARGE(FORMS(name, begun, _c, MPI_Count, MPI_Aint, PL_P_##SHAPE, PL_G_##SHAPE, __VA_ARGS__))

#define PLACE(buffer) (IN_PLACE(buffer) ? PL_IN_PLACE : 0)

/* clang-format off */
FORMS(Barrier, Ibarrier, , , , PL_P_BARRIER, PL_G_BARRIER, 0, -1, MPI_OP_NULL, false, none(), none())
COLLECTIVE(Bcast, Ibcast, BCAST, 0, root, MPI_OP_NULL, false,
           IS_ROOT ? plain(buffer, count, type) : none(), plain(buffer, count, type))
COLLECTIVE(Gather, Igather, ROOTED, PLACE(sendbuf), root, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? behind(recvbuf, (MPI_Count)RANK * recvcount, recvcount, recvtype)
                             : plain(sendbuf, sendcount, sendtype),
           IS_ROOT ? blocks(recvbuf, recvcount, recvtype, SIZE) : none())
COLLECTIVE(Scatter, Iscatter, ROOTED, PLACE(recvbuf), root, MPI_OP_NULL, false,
           IS_ROOT ? blocks(sendbuf, sendcount, sendtype, SIZE) : none(),
           IN_PLACE(recvbuf) ? behind(sendbuf, (MPI_Count)RANK * sendcount, sendcount, sendtype)
                             : plain(recvbuf, recvcount, recvtype))
COLLECTIVE(Gatherv, Igatherv, GATHERV, PLACE(sendbuf), root, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? behind(recvbuf, rdispls[RANK], recvcounts[RANK], recvtype)
                             : plain(sendbuf, sendcount, sendtype),
           IS_ROOT ? vector(recvbuf, recvcounts, rdispls, recvtype, SIZE) : none())
COLLECTIVE(Scatterv, Iscatterv, SCATTERV, PLACE(recvbuf), root, MPI_OP_NULL, false,
           IS_ROOT ? vector(sendbuf, sendcounts, sdispls, sendtype, SIZE) : none(),
           IN_PLACE(recvbuf) ? behind(sendbuf, sdispls[RANK], sendcounts[RANK], sendtype)
                             : plain(recvbuf, recvcount, recvtype))
COLLECTIVE(Allgather, Iallgather, BLOCKS, PLACE(sendbuf), -1, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? behind(recvbuf, (MPI_Count)RANK * recvcount, recvcount, recvtype)
                             : plain(sendbuf, sendcount, sendtype),
           blocks(recvbuf, recvcount, recvtype, SIZE))
COLLECTIVE(Alltoall, Ialltoall, BLOCKS, PLACE(sendbuf), -1, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? blocks(recvbuf, recvcount, recvtype, SIZE)
                             : blocks(sendbuf, sendcount, sendtype, SIZE),
           blocks(recvbuf, recvcount, recvtype, SIZE))
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, BLOCKS, 0, -1, MPI_OP_NULL, true,
           plain(sendbuf, sendcount, sendtype), blocks(recvbuf, recvcount, recvtype, call.sources))
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, BLOCKS, 0, -1, MPI_OP_NULL, true,
           blocks(sendbuf, sendcount, sendtype, call.targets),
           blocks(recvbuf, recvcount, recvtype, call.sources))
COLLECTIVE(Allgatherv, Iallgatherv, ALLGATHERV, PLACE(sendbuf), -1, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? behind(recvbuf, rdispls[RANK], recvcounts[RANK], recvtype)
                             : plain(sendbuf, sendcount, sendtype),
           vector(recvbuf, recvcounts, rdispls, recvtype, SIZE))
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, ALLGATHERV, 0, -1, MPI_OP_NULL, true,
           plain(sendbuf, sendcount, sendtype),
           vector(recvbuf, recvcounts, rdispls, recvtype, call.sources))
COLLECTIVE(Alltoallv, Ialltoallv, ALLTOALLV, PLACE(sendbuf), -1, MPI_OP_NULL, false,
           IN_PLACE(sendbuf) ? vector(recvbuf, recvcounts, rdispls, recvtype, SIZE)
                             : vector(sendbuf, sendcounts, sdispls, sendtype, SIZE),
           vector(recvbuf, recvcounts, rdispls, recvtype, SIZE))
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, ALLTOALLV, 0, -1, MPI_OP_NULL, true,
           vector(sendbuf, sendcounts, sdispls, sendtype, call.targets),
           vector(recvbuf, recvcounts, rdispls, recvtype, call.sources))
COLLECTIVE(Reduce, Ireduce, REDUCE, PLACE(sendbuf), root, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type),
           IS_ROOT ? plain(recvbuf, count, type) : none())
COLLECTIVE(Allreduce, Iallreduce, REDUCED, PLACE(sendbuf), -1, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type), plain(recvbuf, count, type))
COLLECTIVE(Scan, Iscan, REDUCED, PLACE(sendbuf), -1, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type), plain(recvbuf, count, type))
COLLECTIVE(Exscan, Iexscan, REDUCED, PLACE(sendbuf), -1, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type),
           RANK == 0 ? none() : plain(recvbuf, count, type))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, REDUCED, PLACE(sendbuf), -1, op, false,
           blocks(IN_PLACE(sendbuf) ? recvbuf : sendbuf, count, type, SIZE),
           plain(recvbuf, count, type))
COLLECTIVE(Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER, PLACE(sendbuf), -1, op, false,
           plain(IN_PLACE(sendbuf) ? recvbuf : sendbuf, total(counts, SIZE, IS_LARGE(counts)), type),
           plain(recvbuf, counts[RANK], type))

/* Each part may have a type of its own: their data are not looked at. */
#define PL_P_NEIGHBOURS(Count, Displ, ...) PL_P_ALLTOALLW(Count, MPI_Aint, __VA_ARGS__)
#define PL_G_NEIGHBOURS PL_G_ALLTOALLW
COLLECTIVE(Alltoallw, Ialltoallw, ALLTOALLW, PL_UNKNOWN_CONTENT, -1, MPI_OP_NULL, false,
           none(), none())
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOURS, PL_UNKNOWN_CONTENT, -1, MPI_OP_NULL,
           true, none(), none())
/* clang-format on */
