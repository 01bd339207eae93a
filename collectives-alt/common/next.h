/* What an application's call meets behind libplumbline.so: tools that are preloaded behind it, then
 * the MPI library. Without a tool that is the library's own function, as PMPI_ is.
 *
 * In libplumbline.so: what calls meet that it does not replace. In the probe: the variant
 * `library`, whether libplumbline.so is there or not. A simulated program has no tools. */
#ifndef PL_NEXT_H
#define PL_NEXT_H

#include <mpi.h>

/* Those of functions.def, and these. */
#define PL_NEXT_OTHERS(X) X(Init) X(Init_thread) X(Finalize) X(Intercomm_merge)

#define PL_NEXT_FIELD(name) __typeof__(&PMPI_##name) name;
struct pl_next {
    PL_NEXT_OTHERS(PL_NEXT_FIELD)
#define PL_FUNCTION(symbol, name) PL_NEXT_FIELD(name)
#include "functions.def"
#undef PL_FUNCTION
};

/* Filled before main; does not change. */
extern struct pl_next pl_next;

#endif
