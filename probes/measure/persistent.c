/* Persistent collectives (MPI 4.0, section 6.13). A library may have them before its header says so
 * (Open MPI 5), or under MPIX_ (Open MPI 4): they are looked for when the probe is started.
 * Those with a table of counts are left out, as the tables are shared by all cases. */
#include "measure/forms.h"

#include "tools.h"

#define PL_WEAK(name, ...)                                                                         \
    extern int name(__VA_ARGS__, MPI_Info, MPI_Request *) __attribute__((weak))
#define PL_INIT(name, ...)                                                                         \
    PL_WEAK(MPI_##name##_init, __VA_ARGS__);                                                       \
    PL_WEAK(MPIX_##name##_init, __VA_ARGS__)
#define PL_BLOCKS const void *, int, MPI_Datatype, void *, int, MPI_Datatype
#define PL_VECTORS const void *, void *, int, MPI_Datatype, MPI_Op

PL_INIT(Barrier, MPI_Comm);
PL_INIT(Bcast, void *, int, MPI_Datatype, int, MPI_Comm);
PL_INIT(Gather, PL_BLOCKS, int, MPI_Comm);
PL_INIT(Scatter, PL_BLOCKS, int, MPI_Comm);
PL_INIT(Allgather, PL_BLOCKS, MPI_Comm);
PL_INIT(Alltoall, PL_BLOCKS, MPI_Comm);
PL_INIT(Reduce, PL_VECTORS, int, MPI_Comm);
PL_INIT(Allreduce, PL_VECTORS, MPI_Comm);
PL_INIT(Reduce_scatter_block, PL_VECTORS, MPI_Comm);
PL_INIT(Scan, PL_VECTORS, MPI_Comm);
PL_INIT(Exscan, PL_VECTORS, MPI_Comm);

static struct {
    bool there;
    struct pl_call call;
    MPI_Request request;
} kept;

/* MPI_X_init, else MPIX_X_init, else nothing: `found` says which one, `call` NULL asks for no more.
 */
#define PL_BEGIN(name, ...)                                                                        \
    if (!call)                                                                                     \
        return MPI_##name##_init || MPIX_##name##_init ? MPI_SUCCESS : MPI_ERR_ARG;                \
    if (MPI_##name##_init)                                                                         \
        return MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request);                             \
    return MPIX_##name##_init ? MPIX_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request)            \
                              : MPI_ERR_ARG
#define PL_THEIR_BLOCKS                                                                            \
    call->sendbuf, call->sendcount, call->sendtype, call->recvbuf, call->recvcount, call->recvtype
#define PL_THEIR_VECTORS call->sendbuf, call->recvbuf, call->recvcount, call->recvtype, call->op

/* `call` NULL: only whether the function is there. */
static int begin(enum pl_function function, const struct pl_call *call, MPI_Request *request)
{
    switch (function) {
    case PL_FN_barrier:
        PL_BEGIN(Barrier, call->comm);
    case PL_FN_bcast:
        PL_BEGIN(Bcast, call->recvbuf, call->recvcount, call->recvtype, call->root, call->comm);
    case PL_FN_gather:
        PL_BEGIN(Gather, PL_THEIR_BLOCKS, call->root, call->comm);
    case PL_FN_scatter:
        PL_BEGIN(Scatter, PL_THEIR_BLOCKS, call->root, call->comm);
    case PL_FN_allgather:
        PL_BEGIN(Allgather, PL_THEIR_BLOCKS, call->comm);
    case PL_FN_alltoall:
        PL_BEGIN(Alltoall, PL_THEIR_BLOCKS, call->comm);
    case PL_FN_reduce:
        PL_BEGIN(Reduce, PL_THEIR_VECTORS, call->root, call->comm);
    case PL_FN_allreduce:
        PL_BEGIN(Allreduce, PL_THEIR_VECTORS, call->comm);
    case PL_FN_reduce_scatter_block:
        PL_BEGIN(Reduce_scatter_block, PL_THEIR_VECTORS, call->comm);
    case PL_FN_scan:
        PL_BEGIN(Scan, PL_THEIR_VECTORS, call->comm);
    case PL_FN_exscan:
        PL_BEGIN(Exscan, PL_THEIR_VECTORS, call->comm);
    default:
        return MPI_ERR_ARG;
    }
}

bool pl_persistent_has(enum pl_function function)
{
    return begin(function, NULL, NULL) == MPI_SUCCESS;
}

int pl_persistent_begin(const struct pl_call *call, MPI_Request *request)
{
    return begin(call->function, call, request);
}

static bool is_same(const struct pl_call *a, const struct pl_call *b)
{
    return a->function == b->function && a->sendbuf == b->sendbuf && a->recvbuf == b->recvbuf &&
           a->sendcount == b->sendcount && a->recvcount == b->recvcount &&
           a->recvtype == b->recvtype && a->op == b->op && a->root == b->root && a->comm == b->comm;
}

int pl_persistent(const struct pl_call *call)
{
    int rc = MPI_SUCCESS;
    if (!kept.there || !is_same(&kept.call, call)) {
        pl_persistent_end();
        PL_TRY(pl_persistent_begin(call, &kept.request));
        kept.call = *call;
        kept.there = true;
    }
    PL_TRY(MPI_Start(&kept.request));
    PL_TRY(MPI_Wait(&kept.request, MPI_STATUS_IGNORE));
out:
    return rc;
}

void pl_persistent_end(void)
{
    if (kept.there)
        MPI_Request_free(&kept.request);
    kept.there = false;
}
