/* The library's non-blocking functions, with the arguments of a call; see immediate.h. */
#include "immediate.h"

int pl_immediate_start(const struct pl_call *call, MPI_Request *request)
{
    switch (call->function) {
    case PL_FN_barrier:
        return PL_MPI(Ibarrier)(call->comm, request);
    case PL_FN_bcast:
        return PL_MPI(Ibcast)(call->recvbuf, call->recvcount, call->recvtype, call->root,
                              call->comm, request);
    case PL_FN_gather:
        return PL_MPI(Igather)(call->sendbuf, call->sendcount, call->sendtype, call->recvbuf,
                               call->recvcount, call->recvtype, call->root, call->comm, request);
    case PL_FN_gatherv:
        return PL_MPI(Igatherv)(call->sendbuf, call->sendcount, call->sendtype, call->recvbuf,
                                call->recvcounts, call->rdispls, call->recvtype, call->root,
                                call->comm, request);
    case PL_FN_scatter:
        return PL_MPI(Iscatter)(call->sendbuf, call->sendcount, call->sendtype, call->recvbuf,
                                call->recvcount, call->recvtype, call->root, call->comm, request);
    case PL_FN_scatterv:
        return PL_MPI(Iscatterv)(call->sendbuf, call->sendcounts, call->sdispls, call->sendtype,
                                 call->recvbuf, call->recvcount, call->recvtype, call->root,
                                 call->comm, request);
    case PL_FN_allgather:
        return PL_MPI(Iallgather)(call->sendbuf, call->sendcount, call->sendtype, call->recvbuf,
                                  call->recvcount, call->recvtype, call->comm, request);
    case PL_FN_allgatherv:
        return PL_MPI(Iallgatherv)(call->sendbuf, call->sendcount, call->sendtype, call->recvbuf,
                                   call->recvcounts, call->rdispls, call->recvtype, call->comm,
                                   request);
    case PL_FN_alltoall:
        return PL_MPI(Ialltoall)(call->sendbuf, call->sendcount, call->sendtype, call->recvbuf,
                                 call->recvcount, call->recvtype, call->comm, request);
    case PL_FN_alltoallv:
        return PL_MPI(Ialltoallv)(call->sendbuf, call->sendcounts, call->sdispls, call->sendtype,
                                  call->recvbuf, call->recvcounts, call->rdispls, call->recvtype,
                                  call->comm, request);
    case PL_FN_reduce:
        return PL_MPI(Ireduce)(call->sendbuf, call->recvbuf, call->recvcount, call->recvtype,
                               call->op, call->root, call->comm, request);
    case PL_FN_allreduce:
        return PL_MPI(Iallreduce)(call->sendbuf, call->recvbuf, call->recvcount, call->recvtype,
                                  call->op, call->comm, request);
    case PL_FN_reduce_scatter:
        return PL_MPI(Ireduce_scatter)(call->sendbuf, call->recvbuf, call->recvcounts,
                                       call->recvtype, call->op, call->comm, request);
    case PL_FN_reduce_scatter_block:
        return PL_MPI(Ireduce_scatter_block)(call->sendbuf, call->recvbuf, call->recvcount,
                                             call->recvtype, call->op, call->comm, request);
    case PL_FN_scan:
        return PL_MPI(Iscan)(call->sendbuf, call->recvbuf, call->recvcount, call->recvtype,
                             call->op, call->comm, request);
    case PL_FN_exscan:
        return PL_MPI(Iexscan)(call->sendbuf, call->recvbuf, call->recvcount, call->recvtype,
                               call->op, call->comm, request);
    case PL_FN_reduce_local:
    case PL_FUNCTION_COUNT:
        break;
    }
    return MPI_ERR_ARG;
}

int pl_immediate(const struct pl_call *call)
{
    int rc;
    MPI_Request request;
    PL_TRY(pl_immediate_start(call, &request));
    PL_TRY(PL_MPI(Wait)(&request, MPI_STATUS_IGNORE));
out:
    return rc;
}
