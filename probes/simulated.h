/* Whether this build runs on SimGrid's simulation of a machine (smpicc) or on a real one. The only
 * place that asks; what is different there asks PL_SIMULATED.
 *
 * On a simulated machine clock_gettime and nanosleep are those of simulated time (smpicc sees to
 * that), all ranks share one process, and whatever is read from the kernel is about the machine
 * that simulates, not about the one that is measured: it is not read. docs/simulated.md. */
#ifndef PL_SIMULATED_H
#define PL_SIMULATED_H

#include <mpi.h>

#ifdef SMPI_H
#define PL_SIMULATED 1
#else
#define PL_SIMULATED 0
#endif

#define PL_SIMULATED_WHY "the machine is simulated"

#endif
