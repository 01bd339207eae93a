/* The MPI functions that a C application calls. Where no rule can match, a call costs two look-ups
 * and a counter more than the library's own; where rules are for other sizes, a comparison each. */
#include "next.h"
#include "preload.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int MPI_Init(int *argc, char ***argv)
{
    const int rc = pl_next.Init(argc, argv);
    if (rc == MPI_SUCCESS)
        pl_load(true);
    return rc;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int rc = pl_next.Init_thread(argc, argv, required, provided);
    if (rc == MPI_SUCCESS)
        pl_load(true);
    return rc;
}

EXPORT int MPI_Finalize(void)
{
    pl_load(false);
    pl_write_report();
    pl_calls_close(true);
    return pl_next.Finalize();
}

/* What has ranks of several jobs was made by this, or of what this has made. */
EXPORT int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    atomic_store_explicit(&pl_state.merged, true, memory_order_relaxed);
    return pl_next.Intercomm_merge(intercomm, high, newintracomm);
}

/* A call with blocks, without its root; counts are 0 on a side that has one for each rank. */
static inline struct pl_call blocks(enum pl_function function, const void *sendbuf, int sendcount,
                                    MPI_Datatype sendtype, void *recvbuf, int recvcount,
                                    MPI_Datatype recvtype, MPI_Comm comm)
{
    struct pl_call call = pl_no_call;
    call.function = function;
    call.sendbuf = sendbuf;
    call.sendcount = sendcount;
    call.sendtype = sendtype;
    call.recvbuf = recvbuf;
    call.recvcount = recvcount;
    call.recvtype = recvtype;
    call.comm = comm;
    return call;
}

/* A reduction, without its root. */
static inline struct pl_call reduction(enum pl_function function, const void *sendbuf,
                                       void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                       MPI_Comm comm)
{
    struct pl_call call = pl_no_call;
    call.function = function;
    call.sendbuf = sendbuf;
    call.recvbuf = recvbuf;
    call.recvcount = count;
    call.recvtype = datatype;
    call.op = op;
    call.comm = comm;
    return call;
}

EXPORT int MPI_Barrier(MPI_Comm comm)
{
    if (pl_untouched(PL_FN_barrier, comm))
        return pl_next.Barrier(comm);
    struct pl_call call = pl_no_call;
    call.function = PL_FN_barrier;
    call.comm = comm;
    return pl_replace(&call);
}

EXPORT int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_bcast, comm) || pl_outside(PL_FN_bcast, comm, false, count, datatype))
        return pl_next.Bcast(buffer, count, datatype, root, comm);
    struct pl_call call = pl_no_call;
    call.function = PL_FN_bcast;
    call.recvbuf = buffer;
    call.recvcount = count;
    call.recvtype = datatype;
    call.root = root;
    call.comm = comm;
    return pl_replace(&call);
}

EXPORT int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                      int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_gather, comm) ||
        (pl_is_root(comm, root) ? pl_outside(PL_FN_gather, comm, true, recvcount, recvtype)
                                : pl_outside(PL_FN_gather, comm, true, sendcount, sendtype)))
        return pl_next.Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                              comm);
    struct pl_call call =
        blocks(PL_FN_gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    call.root = root;
    return pl_replace(&call);
}

EXPORT int MPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                       int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_scatter, comm) ||
        (pl_is_root(comm, root) ? pl_outside(PL_FN_scatter, comm, true, sendcount, sendtype)
                                : pl_outside(PL_FN_scatter, comm, true, recvcount, recvtype)))
        return pl_next.Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                               comm);
    struct pl_call call =
        blocks(PL_FN_scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    call.root = root;
    return pl_replace(&call);
}

EXPORT int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                         int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_allgather, comm) ||
        pl_outside(PL_FN_allgather, comm, true, recvcount, recvtype))
        return pl_next.Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    const struct pl_call call =
        blocks(PL_FN_allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return pl_replace(&call);
}

EXPORT int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_alltoall, comm) ||
        pl_outside(PL_FN_alltoall, comm, true, recvcount, recvtype))
        return pl_next.Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    const struct pl_call call =
        blocks(PL_FN_alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return pl_replace(&call);
}

EXPORT int MPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                          const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                          MPI_Comm comm)
{
    if (pl_untouched(PL_FN_allgatherv, comm) ||
        pl_outside_counts(PL_FN_allgatherv, comm, recvcounts, recvtype))
        return pl_next.Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                  recvtype, comm);
    struct pl_call call =
        blocks(PL_FN_allgatherv, sendbuf, sendcount, sendtype, recvbuf, 0, recvtype, comm);
    call.recvcounts = recvcounts;
    call.rdispls = displs;
    return pl_replace(&call);
}

EXPORT int MPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                       const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                       MPI_Comm comm)
{
    if (pl_untouched(PL_FN_gatherv, comm))
        return pl_next.Gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                               root, comm);
    struct pl_call call =
        blocks(PL_FN_gatherv, sendbuf, sendcount, sendtype, recvbuf, 0, recvtype, comm);
    call.recvcounts = recvcounts;
    call.rdispls = displs;
    call.root = root;
    return pl_replace(&call);
}

EXPORT int MPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[],
                        MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                        int root, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_scatterv, comm))
        return pl_next.Scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,
                                root, comm);
    struct pl_call call =
        blocks(PL_FN_scatterv, sendbuf, 0, sendtype, recvbuf, recvcount, recvtype, comm);
    call.sendcounts = sendcounts;
    call.sdispls = displs;
    call.root = root;
    return pl_replace(&call);
}

EXPORT int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
                         MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                         const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_alltoallv, comm))
        return pl_next.Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                 rdispls, recvtype, comm);
    struct pl_call call = blocks(PL_FN_alltoallv, sendbuf, 0, sendtype, recvbuf, 0, recvtype, comm);
    call.sendcounts = sendcounts;
    call.sdispls = sdispls;
    call.recvcounts = recvcounts;
    call.rdispls = rdispls;
    return pl_replace(&call);
}

EXPORT int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                      MPI_Op op, int root, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_reduce, comm) || pl_outside(PL_FN_reduce, comm, false, count, datatype))
        return pl_next.Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
    struct pl_call call = reduction(PL_FN_reduce, sendbuf, recvbuf, count, datatype, op, comm);
    call.root = root;
    return pl_replace(&call);
}

EXPORT int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_allreduce, comm) ||
        pl_outside(PL_FN_allreduce, comm, false, count, datatype))
        return pl_next.Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    const struct pl_call call =
        reduction(PL_FN_allreduce, sendbuf, recvbuf, count, datatype, op, comm);
    return pl_replace(&call);
}

EXPORT int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int count,
                                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_reduce_scatter_block, comm) ||
        pl_outside(PL_FN_reduce_scatter_block, comm, true, count, datatype))
        return pl_next.Reduce_scatter_block(sendbuf, recvbuf, count, datatype, op, comm);
    const struct pl_call call =
        reduction(PL_FN_reduce_scatter_block, sendbuf, recvbuf, count, datatype, op, comm);
    return pl_replace(&call);
}

EXPORT int MPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm)
{
    if (pl_untouched(PL_FN_scan, comm) || pl_outside(PL_FN_scan, comm, false, count, datatype))
        return pl_next.Scan(sendbuf, recvbuf, count, datatype, op, comm);
    const struct pl_call call = reduction(PL_FN_scan, sendbuf, recvbuf, count, datatype, op, comm);
    return pl_replace(&call);
}

EXPORT int MPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                      MPI_Op op, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_exscan, comm) || pl_outside(PL_FN_exscan, comm, false, count, datatype))
        return pl_next.Exscan(sendbuf, recvbuf, count, datatype, op, comm);
    const struct pl_call call =
        reduction(PL_FN_exscan, sendbuf, recvbuf, count, datatype, op, comm);
    return pl_replace(&call);
}

EXPORT int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (pl_untouched(PL_FN_reduce_scatter, comm) ||
        pl_outside_counts(PL_FN_reduce_scatter, comm, recvcounts, datatype))
        return pl_next.Reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm);
    struct pl_call call = reduction(PL_FN_reduce_scatter, sendbuf, recvbuf, 0, datatype, op, comm);
    call.recvcounts = recvcounts;
    return pl_replace(&call);
}
