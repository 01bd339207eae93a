/* What the parts of libplumbline.so share. */
#ifndef PL_PRELOAD_STATE_H
#define PL_PRELOAD_STATE_H

#include "profile.h"

#include <stdatomic.h>

/* A rule in force, with the calls it replaced. */
struct pl_active_rule {
    const struct pl_rule *rule;
    atomic_llong replaced;
};

/* `first` is NULL where no rule is for the function: the one look-up of a call that is not touched.
 * Until the profile is loaded it is pl_unloaded. Rules do not change once loaded. */
struct pl_function_state {
    _Atomic(struct pl_active_rule *) first;
    int count;
    atomic_llong calls, replaced, bytes; /* bytes: volume of the replaced calls */
};

struct pl_state {
    struct pl_function_state functions[PL_FUNCTION_COUNT];
    struct pl_profile profile;
    struct pl_active_rule *rules; /* profile.count of them, grouped by function */
    bool threads;                 /* MPI_THREAD_MULTIPLE: calls may come at the same time */
    const char *path;             /* PLUMBLINE_PROFILE; NULL when not set */
    char reason[768];             /* why no rule is in force; empty when rules are */
};

extern struct pl_state pl_state;
extern struct pl_active_rule pl_unloaded[1];

/* Reads the profile, once. `collective`: called by all ranks of MPI_COMM_WORLD, so that rank 0
 * reads and all parse the same text; else each rank reads for itself. MPI must be initialised. */
void pl_load(bool collective);

/* The call with what the rules say, or the library's own. */
int pl_replace(const struct pl_call *call);

/* Writes the file PLUMBLINE_REPORT names, on rank 0. */
void pl_write_report(void);

#endif
