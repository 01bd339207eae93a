/* Two ranks that send to each other at the same time: operations of `point_to_point` in which the
 * answer does not wait for the message, and a pattern whose own call is MPI_Sendrecv. */
#include "pattern/pattern.h"

#include <string.h>

const struct pl_pattern pl_pattern_exchange = {
    .name = "exchange",
    .summary = "a message from the root to the last rank and one back, at the same time",
    .least_ranks = 2,
    .has_root = true,
};

static int sendrecv(const struct pl_call *call)
{
    const struct pl_pair_role role = pl_role(call);
    if (!role.is_root && !role.is_partner)
        return MPI_SUCCESS;
    return MPI_Sendrecv(call->sendbuf, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                        call->recvbuf, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                        call->comm, MPI_STATUS_IGNORE);
}

/* What is to be replaced: what this rank would send. */
static int fill(const struct pl_call *call)
{
    const struct pl_pair_role role = pl_role(call);
    int size, rc;
    PL_TRY(MPI_Type_size(call->recvtype, &size));
    if (role.is_root || role.is_partner)
        memcpy(call->recvbuf, call->sendbuf, (size_t)size * (size_t)call->recvcount);
out:
    return rc;
}

static int sendrecv_replace(const struct pl_call *call)
{
    const struct pl_pair_role role = pl_role(call);
    if (!role.is_root && !role.is_partner)
        return MPI_SUCCESS;
    return MPI_Sendrecv_replace(call->recvbuf, call->recvcount, call->recvtype, role.peer,
                                PL_PATTERN_TAG, role.peer, PL_PATTERN_TAG, call->comm,
                                MPI_STATUS_IGNORE);
}

static int isend_irecv(const struct pl_call *call)
{
    const struct pl_pair_role role = pl_role(call);
    MPI_Request requests[2];
    int rc = MPI_SUCCESS;
    if (role.is_root || role.is_partner) {
        PL_TRY(MPI_Isend(call->sendbuf, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                         call->comm, &requests[0]));
        PL_TRY(MPI_Irecv(call->recvbuf, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                         call->comm, &requests[1]));
        PL_TRY(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
out:
    return rc;
}

const struct pl_operation pl_operation_sendrecv = {
    .name = "sendrecv",
    .pattern = &pl_pattern_point_to_point,
    .summary = "MPI_Sendrecv on both ranks: two messages at the same time",
    .landing = PL_LANDS_SWAPPED,
    .run = sendrecv,
};

const struct pl_operation pl_operation_sendrecv_replace = {
    .name = "sendrecv_replace",
    .pattern = &pl_pattern_point_to_point,
    .summary = "MPI_Sendrecv_replace on both ranks",
    .landing = PL_LANDS_SWAPPED,
    .run = sendrecv_replace,
    .begin = fill,
};

const struct pl_operation pl_operation_exchange_sendrecv = {
    .name = "exchange_sendrecv",
    .pattern = &pl_pattern_exchange,
    .summary = "MPI_Sendrecv on both ranks, as sendrecv",
    .landing = PL_LANDS_SWAPPED,
    .run = sendrecv,
};

const struct pl_operation pl_operation_exchange_isend_irecv = {
    .name = "exchange_isend_irecv",
    .pattern = &pl_pattern_exchange,
    .summary = "MPI_Isend, MPI_Irecv and MPI_Waitall on both ranks",
    .landing = PL_LANDS_SWAPPED,
    .run = isend_irecv,
};
