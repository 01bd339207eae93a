/* The MPI functions that an application calls. Without a rule for the function a call costs one
 * look-up more than the library's own.
 *
 * Functions without a volume (Gatherv, Scatterv, Alltoallv) are not here: no rule could be decided
 * by values that all ranks have. */
#include "preload.h"

#define EXPORT __attribute__((visibility("default")))

static inline bool untouched(enum pl_function function)
{
    return !atomic_load_explicit(&pl_state.functions[function].first, memory_order_acquire);
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
    const int rc = PMPI_Init(argc, argv);
    if (rc == MPI_SUCCESS)
        pl_load(true);
    return rc;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int rc = PMPI_Init_thread(argc, argv, required, provided);
    if (rc == MPI_SUCCESS)
        pl_load(true);
    return rc;
}

EXPORT int MPI_Finalize(void)
{
    pl_load(false);
    pl_write_report();
    return PMPI_Finalize();
}

EXPORT int MPI_Barrier(MPI_Comm comm)
{
    if (untouched(PL_FN_barrier))
        return PMPI_Barrier(comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_barrier, .comm = comm});
}

EXPORT int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    if (untouched(PL_FN_bcast))
        return PMPI_Bcast(buffer, count, datatype, root, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_bcast,
                                        .recvbuf = buffer,
                                        .recvcount = count,
                                        .recvtype = datatype,
                                        .root = root,
                                        .comm = comm});
}

EXPORT int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                      int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    if (untouched(PL_FN_gather))
        return PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_gather,
                                        .sendbuf = sendbuf,
                                        .sendcount = sendcount,
                                        .sendtype = sendtype,
                                        .recvbuf = recvbuf,
                                        .recvcount = recvcount,
                                        .recvtype = recvtype,
                                        .root = root,
                                        .comm = comm});
}

EXPORT int MPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                       int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    if (untouched(PL_FN_scatter))
        return PMPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_scatter,
                                        .sendbuf = sendbuf,
                                        .sendcount = sendcount,
                                        .sendtype = sendtype,
                                        .recvbuf = recvbuf,
                                        .recvcount = recvcount,
                                        .recvtype = recvtype,
                                        .root = root,
                                        .comm = comm});
}

EXPORT int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                         int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    if (untouched(PL_FN_allgather))
        return PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_allgather,
                                        .sendbuf = sendbuf,
                                        .sendcount = sendcount,
                                        .sendtype = sendtype,
                                        .recvbuf = recvbuf,
                                        .recvcount = recvcount,
                                        .recvtype = recvtype,
                                        .comm = comm});
}

EXPORT int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    if (untouched(PL_FN_alltoall))
        return PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_alltoall,
                                        .sendbuf = sendbuf,
                                        .sendcount = sendcount,
                                        .sendtype = sendtype,
                                        .recvbuf = recvbuf,
                                        .recvcount = recvcount,
                                        .recvtype = recvtype,
                                        .comm = comm});
}

EXPORT int MPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                          const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                          MPI_Comm comm)
{
    if (untouched(PL_FN_allgatherv))
        return PMPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                               comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_allgatherv,
                                        .sendbuf = sendbuf,
                                        .sendcount = sendcount,
                                        .sendtype = sendtype,
                                        .recvbuf = recvbuf,
                                        .recvcounts = recvcounts,
                                        .rdispls = displs,
                                        .recvtype = recvtype,
                                        .comm = comm});
}

EXPORT int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                      MPI_Op op, int root, MPI_Comm comm)
{
    if (untouched(PL_FN_reduce))
        return PMPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_reduce,
                                        .sendbuf = sendbuf,
                                        .recvbuf = recvbuf,
                                        .recvcount = count,
                                        .recvtype = datatype,
                                        .op = op,
                                        .root = root,
                                        .comm = comm});
}

EXPORT int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm)
{
    if (untouched(PL_FN_allreduce))
        return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_allreduce,
                                        .sendbuf = sendbuf,
                                        .recvbuf = recvbuf,
                                        .recvcount = count,
                                        .recvtype = datatype,
                                        .op = op,
                                        .comm = comm});
}

EXPORT int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int count,
                                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (untouched(PL_FN_reduce_scatter_block))
        return PMPI_Reduce_scatter_block(sendbuf, recvbuf, count, datatype, op, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_reduce_scatter_block,
                                        .sendbuf = sendbuf,
                                        .recvbuf = recvbuf,
                                        .recvcount = count,
                                        .recvtype = datatype,
                                        .op = op,
                                        .comm = comm});
}

EXPORT int MPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm)
{
    if (untouched(PL_FN_scan))
        return PMPI_Scan(sendbuf, recvbuf, count, datatype, op, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_scan,
                                        .sendbuf = sendbuf,
                                        .recvbuf = recvbuf,
                                        .recvcount = count,
                                        .recvtype = datatype,
                                        .op = op,
                                        .comm = comm});
}

EXPORT int MPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                      MPI_Op op, MPI_Comm comm)
{
    if (untouched(PL_FN_exscan))
        return PMPI_Exscan(sendbuf, recvbuf, count, datatype, op, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_exscan,
                                        .sendbuf = sendbuf,
                                        .recvbuf = recvbuf,
                                        .recvcount = count,
                                        .recvtype = datatype,
                                        .op = op,
                                        .comm = comm});
}

EXPORT int MPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[],
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    if (untouched(PL_FN_reduce_scatter))
        return PMPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm);
    return pl_replace(&(struct pl_call){.function = PL_FN_reduce_scatter,
                                        .sendbuf = sendbuf,
                                        .recvbuf = recvbuf,
                                        .recvcounts = recvcounts,
                                        .recvtype = datatype,
                                        .op = op,
                                        .comm = comm});
}
