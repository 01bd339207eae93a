/* The variant that refuses, `variant=canary` in a profile: every call that reaches it fails with
 * MPI_ERR_UNSUPPORTED_OPERATION before any message is sent. With it in the place of the real
 * variants one can see whether a profile is in force: exactly the calls it replaces must fail. */
#include "profile.h"

static int refuse(const struct pl_call *call)
{
    PMPI_Comm_call_errhandler(call->comm, MPI_ERR_UNSUPPORTED_OPERATION);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

const struct pl_variant pl_canary = {
    .name = "canary",
    .kind = PL_MOCKUP,
    .restrictions = PL_ANY,
    .summary = "refuses every call, to show that a profile is in force",
    .run = refuse,
};
