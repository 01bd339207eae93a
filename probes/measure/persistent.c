/* Persistent collectives (MPI 4.0, section 6.13). A library may have them before its header says so
 * (Open MPI 5), or under MPIX_ (Open MPI 4): they are looked for when the probe is started.
 * Those with a table of counts are left out, as the tables are shared by all cases, and so are
 * those that the probe does not measure. */
#include "measure/forms.h"

#include "tools.h"

#define PL_COLLECTIVE(symbol, name, SHAPE)                                                         \
    PL_WEAK(MPI_##name##_init, SHAPE)                                                              \
    PL_WEAK(MPIX_##name##_init, SHAPE)
#define PL_COLLECTIVE_TABLES(...)
#define PL_COLLECTIVE_UNMEASURED(...)
#define PL_WEAK(name, SHAPE)                                                                       \
    extern int name PL_P_##SHAPE(int, int, , MPI_Info info, MPI_Request *request)                  \
        __attribute__((weak));
#include "collectives.def"

static struct {
    bool there;
    struct pl_call call;
    MPI_Request request;
} kept;

/* MPI_X_init, else MPIX_X_init, else nothing. `c` NULL: only whether the function is there, and
 * `request` is not written. */
static int begin(enum pl_function function, const struct pl_call *c, MPI_Request *request)
{
    switch (function) {
#define PL_COLLECTIVE(symbol, name, SHAPE)                                                         \
    case PL_FN_##symbol:                                                                           \
        if (!c)                                                                                    \
            return MPI_##name##_init || MPIX_##name##_init ? MPI_SUCCESS : MPI_ERR_ARG;            \
        if (MPI_##name##_init)                                                                     \
            return MPI_##name##_init(PL_C_##SHAPE, MPI_INFO_NULL, request);                        \
        return MPIX_##name##_init ? MPIX_##name##_init(PL_C_##SHAPE, MPI_INFO_NULL, request)       \
                                  : MPI_ERR_ARG;
#define PL_COLLECTIVE_TABLES(...)
#define PL_COLLECTIVE_UNMEASURED(...)
#include "collectives.def"
    default:
        return MPI_ERR_ARG;
    }
}

bool pl_persistent_has(enum pl_function function)
{
    return begin(function, NULL, &kept.request) == MPI_SUCCESS;
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
