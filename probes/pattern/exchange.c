/* Two ranks that send to each other at the same time: operations of `point_to_point` in which the
 * answer does not wait for the message. */
#include "pattern/pattern.h"

#include <string.h>

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
