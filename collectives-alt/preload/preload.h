/* What the parts of libplumbline.so share. */
#ifndef PL_PRELOAD_STATE_H
#define PL_PRELOAD_STATE_H

#include "profile.h"

#include <stdatomic.h>

/* A rule in force, with the calls it replaced, and how many of these on another number of processes
 * than its own. */
struct pl_active_rule {
    const struct pl_rule *rule;
    atomic_llong replaced, nearest;
};

/* `first` is NULL where no rule is for the function, and at the end (end.c). Until the profile is
 * loaded it is pl_unloaded. Rules do not change once loaded. */
struct pl_function_state {
    _Atomic(struct pl_active_rule *) first;
    int count;
    atomic_llong calls, replaced, bytes; /* bytes: volume of the replaced calls */
    atomic_llong crowded;                /* left to the library for want of a communicator */
};

struct pl_state {
    struct pl_function_state functions[PL_FUNCTION_COUNT];
    struct pl_profile profile;
    struct pl_active_rule *rules; /* profile.count of them, by function, then by bytes */
    bool threads;                 /* MPI_THREAD_MULTIPLE: calls may come at the same time */
    bool spawned;                 /* by MPI_Comm_spawn, with a parent at least when loaded */
    bool recording;               /* calls.c counts and times all calls */
    atomic_bool merged;           /* communicators may have ranks of several jobs */
    const char *path;             /* PLUMBLINE_PROFILE; NULL when not set */
    char reason[768];             /* why no rule is in force; empty when rules are */
};

extern struct pl_state pl_state;
extern struct pl_active_rule pl_unloaded[1];
extern struct pl_active_rule pl_recorded[1]; /* `first` of a function without a rule, if recorded */

/* A locked instruction a counter would be felt in a call of a microsecond, so it is spent only
 * where threads may count at the same time. */
static inline void pl_count(atomic_llong *counter, long long more)
{
    if (pl_state.threads)
        atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
    else
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                              memory_order_relaxed);
}

/* --- communicators (communicator.c) --- */

struct pl_option {
    struct pl_interval bytes;
    struct pl_active_rule *rule;
    bool stands_in; /* the rule is for the nearest number of processes */
    bool left;      /* the variant got no private communicator here, on any rank */
};

/* The rules of one function that can match on one communicator, by bytes. Not `known` before the
 * first call; `untouched` where there are none and no call is recorded. */
struct pl_choice {
    bool known, untouched;
    int count;
    struct pl_option *options;
};

/* What is known of a communicator; lives and dies with it. */
struct pl_comm_state {
    int p, rank;
    bool inter, foreign; /* foreign: it has ranks of another job */
    bool located;        /* calls.c knows nodes and ranks a node (0: nobody could say) */
    int nodes, ppn;
    struct pl_choice choices[PL_FUNCTION_COUNT];
};

/* The communicator of this thread's last call. An entry of another generation is stale: since then
 * a communicator was freed, whose handle may have been given to another one. */
struct pl_last {
    MPI_Comm comm;
    unsigned generation;
    struct pl_comm_state *comm_state;
};
extern PL_A_THREAD struct pl_last pl_last;
extern atomic_uint pl_generation;

/* NULL where pl_comm_state_of must ask MPI. */
static inline struct pl_comm_state *pl_last_comm_state(MPI_Comm comm)
{
    const unsigned now = atomic_load_explicit(&pl_generation, memory_order_acquire);
    return pl_last.generation == now && pl_last.comm == comm ? pl_last.comm_state : NULL;
}

/* What is known of a communicator, with the rules of `function` chosen. The first call of a
 * function on a communicator is collective if a rule asks for nodes. An error went to the error
 * handler. */
int pl_comm_state_of(MPI_Comm comm, enum pl_function function, struct pl_comm_state **comm_state);

/* --- calls --- */

/* True if no rule can match: the call goes to the library as it is. Counts it. */
static inline bool pl_untouched(enum pl_function function, MPI_Comm comm)
{
    struct pl_function_state *state = &pl_state.functions[function];
    pl_count(&state->calls, 1);
    if (!atomic_load_explicit(&state->first, memory_order_acquire))
        return true;
    const struct pl_comm_state *comm_state = pl_last_comm_state(comm);
    return comm_state && comm_state->choices[function].untouched;
}

/* Whether the rules of `function` are known and none is for calls of so many bytes. */
static inline bool pl_no_rule_for(const struct pl_choice *choice, long long bytes)
{
    for (int i = 0; i < choice->count && choice->options[i].bytes.from <= bytes; i++)
        if (bytes <= choice->options[i].bytes.to)
            return false;
    return choice->known;
}

/* True if the rules of `function` are known on `comm` and none is for calls of so many bytes: with
 * `count` elements of a common type, for each rank where the function sends in blocks. Called
 * behind pl_untouched; it saves the way through pl_replace. */
static inline bool pl_outside(enum pl_function function, MPI_Comm comm, bool blocks, int count,
                              MPI_Datatype type)
{
    const struct pl_comm_state *comm_state = pl_last_comm_state(comm);
    const long long size = pl_common_size(type);
    if (!comm_state || size == 0 || pl_state.recording)
        return false;
    return pl_no_rule_for(&comm_state->choices[function],
                          size * count * (blocks ? comm_state->p : 1));
}

/* The same for a function with a count a rank, all of them known to all. */
static inline bool pl_outside_counts(enum pl_function function, MPI_Comm comm, const int counts[],
                                     MPI_Datatype type)
{
    const struct pl_comm_state *comm_state = pl_last_comm_state(comm);
    const long long size = pl_common_size(type);
    if (!comm_state || size == 0 || pl_state.recording || !counts)
        return false;
    long long sum = 0;
    for (int i = 0; i < comm_state->p; i++)
        sum += counts[i];
    return pl_no_rule_for(&comm_state->choices[function], size * sum);
}

/* Whether this rank is `root`; behind pl_untouched, where the communicator is known. */
static inline bool pl_is_root(MPI_Comm comm, int root)
{
    const struct pl_comm_state *comm_state = pl_last_comm_state(comm);
    return comm_state && comm_state->rank == root;
}

/* What a call begins as. A copy of it is made faster than zeros in the place of unnamed fields. */
extern const struct pl_call pl_no_call;

/* The call with what the rules say, or the library's own; recorded where that is asked for. */
int pl_replace(const struct pl_call *call);
int pl_decide(const struct pl_call *call); /* the same, not recorded */

/* --- arguments (arguments.c) --- */

/* False where the library would refuse the call, as far as this rank can see. */
bool pl_legal(const struct pl_call *call, const struct pl_comm_state *comm_state);

/* pl_spec_run, where an empty signature is written as no elements by all ranks. */
int pl_run(const struct pl_spec *spec, const struct pl_call *call,
           const struct pl_comm_state *comm_state);

/* --- start and end --- */

/* Reads the profile, once. `collective`: called by all ranks of MPI_COMM_WORLD, so that rank 0
 * reads and all parse the same text; else each rank reads for itself. MPI must be initialised. */
void pl_load(bool collective);

/* Has pl_state changed at the end of MPI (end.c). */
void pl_await_end(void);

/* Writes the file PLUMBLINE_REPORT names, on rank 0, which says too what did not go as the rules
 * say. */
void pl_write_report(void);

/* --- the record of calls (calls.c) --- */

/* Takes this rank's part of its node's file in `folder`; false, with a message, where that cannot
 * be. `job` tells the ranks of one MPI_COMM_WORLD from others'. */
bool pl_calls_open(const char *folder, long long job);
/* `finished`: at the end; else, on all ranks, nothing is left of the file. */
void pl_calls_close(bool finished);
/* pl_decide, counted and timed. Collective in the first call on a communicator. */
int pl_record(const struct pl_call *call);

#endif
