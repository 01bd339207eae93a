/* Alltoallw by messages to everyone, each rank beginning with the next one, of which no more than
 * `window` are open each way: alltoallv/windowed.c with a datatype for each block.
 *
 * Source: that of alltoallv_windowed.
 * Cost: k a + m b, with k the most blocks and m the most bytes that a rank sends or receives, of
 * which at most `window` share a link.
 * Restrictions: not with MPI_IN_PLACE, as for alltoallv_linear.
 * Messages: one from each rank for each block that is not empty, in the datatypes of the call, on
 * the private communicator.
 * Scratch: 2 `window` requests. */
#include "everyone.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, alltoallw, alltoallw_windowed, pl_everyone_in_a_window,
            "messages to everyone but empty ones, a window of them open (Open MPI, MPICH)",
            .restrictions = PL_NO_IN_PLACE,
            .parameters = {PL_COUNTED("window", 1, 16, "messages that are open each way at a time",
                                      2, 4, 8, 16, 32, 64)});
