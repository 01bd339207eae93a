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

/* The fields of a call, by its shape (shapes.h). */
#define SENDS call.sendbuf = sendbuf, call.sendcount = sendcount, call.sendtype = sendtype
#define SENDSV                                                                                     \
    call.sendbuf = sendbuf, call.sendcounts = sendcounts, call.sdispls = sdispls,                  \
    call.sendtype = sendtype
#define RECEIVES call.recvbuf = recvbuf, call.recvcount = recvcount, call.recvtype = recvtype
#define RECEIVESV                                                                                  \
    call.recvbuf = recvbuf, call.recvcounts = recvcounts, call.rdispls = rdispls,                  \
    call.recvtype = recvtype
#define REDUCES call.sendbuf = sendbuf, call.recvbuf = recvbuf, call.recvtype = type, call.op = op
#define FIELDS_BARRIER
#define FIELDS_BCAST                                                                               \
    call.recvbuf = buffer, call.recvcount = count, call.recvtype = type, call.root = root;
#define FIELDS_ROOTED SENDS, RECEIVES, call.root = root;
#define FIELDS_GATHERV SENDS, RECEIVESV, call.root = root;
#define FIELDS_SCATTERV SENDSV, RECEIVES, call.root = root;
#define FIELDS_BLOCKS SENDS, RECEIVES;
#define FIELDS_ALLGATHERV SENDS, RECEIVESV;
#define FIELDS_ALLTOALLV SENDSV, RECEIVESV;
#define FIELDS_REDUCE REDUCES, call.recvcount = count, call.root = root;
#define FIELDS_REDUCED REDUCES, call.recvcount = count;
#define FIELDS_REDUCE_SCATTER REDUCES, call.recvcounts = counts;

/* MPI_Name, which goes to the library at once where no rule can match: pl_untouched, or `outside`.
 */
#define ENTRY(symbol, Name, SHAPE, outside)                                                        \
    EXPORT int MPI_##Name PL_P_##SHAPE(int, int, )                                                 \
    {                                                                                              \
        if (pl_untouched(PL_FN_##symbol, comm) || (outside))                                       \
            return pl_next.Name PL_G_##SHAPE();                                                    \
        struct pl_call call = pl_no_call;                                                          \
        call.function = PL_FN_##symbol;                                                            \
        FIELDS_##SHAPE call.comm = comm;                                                           \
        return pl_replace(&call);                                                                  \
    }

ENTRY(barrier, Barrier, BARRIER, false)
ENTRY(bcast, Bcast, BCAST, pl_outside(PL_FN_bcast, comm, false, count, type))
ENTRY(gather, Gather, ROOTED,
      sendbuf == MPI_IN_PLACE ? pl_outside(PL_FN_gather, comm, true, recvcount, recvtype)
                              : pl_outside(PL_FN_gather, comm, true, sendcount, sendtype))
ENTRY(scatter, Scatter, ROOTED,
      pl_is_root(comm, root) ? pl_outside(PL_FN_scatter, comm, true, sendcount, sendtype)
                             : pl_outside(PL_FN_scatter, comm, true, recvcount, recvtype))
ENTRY(allgather, Allgather, BLOCKS, pl_outside(PL_FN_allgather, comm, true, recvcount, recvtype))
ENTRY(alltoall, Alltoall, BLOCKS, pl_outside(PL_FN_alltoall, comm, true, recvcount, recvtype))
ENTRY(allgatherv, Allgatherv, ALLGATHERV,
      pl_outside_counts(PL_FN_allgatherv, comm, recvcounts, recvtype))
ENTRY(gatherv, Gatherv, GATHERV, false)
ENTRY(scatterv, Scatterv, SCATTERV, false)
ENTRY(alltoallv, Alltoallv, ALLTOALLV, false)
ENTRY(reduce, Reduce, REDUCE, pl_outside(PL_FN_reduce, comm, false, count, type))
ENTRY(allreduce, Allreduce, REDUCED, pl_outside(PL_FN_allreduce, comm, false, count, type))
ENTRY(reduce_scatter_block, Reduce_scatter_block, REDUCED,
      pl_outside(PL_FN_reduce_scatter_block, comm, true, count, type))
ENTRY(scan, Scan, REDUCED, pl_outside(PL_FN_scan, comm, false, count, type))
ENTRY(exscan, Exscan, REDUCED, pl_outside(PL_FN_exscan, comm, false, count, type))
ENTRY(reduce_scatter, Reduce_scatter, REDUCE_SCATTER,
      pl_outside_counts(PL_FN_reduce_scatter, comm, counts, type))
