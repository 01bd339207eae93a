/* Alltoall by messages to everyone, each rank beginning with the next one, of which no more than
 * `window` are open each way: alltoall_linear does not flood the network then.
 *
 * Source: linear_sync of Open MPI's coll/base, and MPICH's scattered Alltoall, which waits for a
 * whole batch; here step i waits for step i - window.
 * Cost: that of alltoall_linear, with at most `window` messages that share a link.
 * Restrictions: none.
 * Messages: p - 1 from each rank, empty ones too, in the datatypes of the call, on the private
 * communicator.
 * Scratch: 2 `window` requests; with MPI_IN_PLACE n bytes. */
#include "everyone.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, alltoall, alltoall_windowed, pl_everyone_in_a_window,
            "messages to everyone, a window of them open (Open MPI, MPICH)", .scratch_volumes = 1,
            .parameters = {PL_COUNTED("window", 1, 16, "messages that are open each way at a time",
                                      2, 4, 8, 16, 32, 64)});
