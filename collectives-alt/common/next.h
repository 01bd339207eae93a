/* What an application's call meets behind libplumbline.so: tools that are preloaded behind it, then
 * the MPI library. Without a tool that is the library's own function, as PMPI_ is.
 *
 * In libplumbline.so: what calls meet that it does not replace. In the probe: the variant
 * `library`, whether libplumbline.so is there or not. A simulated program has no tools. */
#ifndef PL_NEXT_H
#define PL_NEXT_H

#include <mpi.h>

#define PL_NEXT_FUNCTIONS(X)                                                                       \
    X(Init)                                                                                        \
    X(Init_thread)                                                                                 \
    X(Finalize)                                                                                    \
    X(Intercomm_merge)                                                                             \
    X(Barrier)                                                                                     \
    X(Bcast)                                                                                       \
    X(Gather)                                                                                      \
    X(Gatherv)                                                                                     \
    X(Scatter)                                                                                     \
    X(Scatterv)                                                                                    \
    X(Allgather)                                                                                   \
    X(Allgatherv)                                                                                  \
    X(Alltoall)                                                                                    \
    X(Alltoallv)                                                                                   \
    X(Reduce)                                                                                      \
    X(Allreduce)                                                                                   \
    X(Reduce_scatter)                                                                              \
    X(Reduce_scatter_block)                                                                        \
    X(Scan)                                                                                        \
    X(Exscan)                                                                                      \
    X(Reduce_local)

#define PL_NEXT_FIELD(name) __typeof__(&PMPI_##name) name;
struct pl_next {
    PL_NEXT_FUNCTIONS(PL_NEXT_FIELD)
};

/* Filled before main; does not change. */
extern struct pl_next pl_next;

#endif
