/* What the parts of libplumbline.so share. */
#ifndef PL_PRELOAD_STATE_H
#define PL_PRELOAD_STATE_H

#include "control.h"
#include "kept.h"
#include "profile.h"

#include <limits.h>

/* A rule in force, with the calls it replaced, how many of these on another number of processes
 * than its own, and the calls inside replacements that it replaced. */
struct pl_active_rule {
    const struct pl_rule *rule;
    atomic_llong replaced, nearest, inner;
};

/* `first` is NULL where no rule is for the function, and at the end (state.c). Until the profile is
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
    double share;                 /* of the calls of rules that the library computes (control.c) */
    uint32_t seed;
    atomic_bool merged; /* communicators may have ranks of several jobs */
    const char *path;   /* PLUMBLINE_PROFILE; NULL when not set */
    unsigned number;    /* of the profile: ranks that stay alive load one after the other */
    char reason[768];   /* why no rule is in force; empty when rules are */
};

extern struct pl_state pl_state;
extern struct pl_active_rule pl_unloaded[1];
extern struct pl_active_rule pl_recorded[1]; /* `first` of a function without a rule, if recorded */

/* A locked instruction a counter would be felt in a call of a microsecond, so it is spent only
 * where threads may count at the same time. */
static inline void pl_count(bool shared, atomic_llong *counter, long long more)
{
    if (shared)
        atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
    else
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                              memory_order_relaxed);
}

/* --- communicators (communicator.c) --- */

struct pl_option {
    struct pl_interval bytes;
    struct pl_active_rule *rule;
    const struct pl_spec *spec; /* of the rule */
    bool stands_in;             /* the rule is for the nearest number of processes */
    bool left;                  /* the variant got no private communicator here, on any rank */
    bool special;               /* left, or with a control group */
    uint32_t plain; /* the next calls, if special, that are replaced as if it were not */
    struct pl_control *control; /* NULL: no call goes to the library for comparison */
};

/* The way of a call: replaced, or not. */
struct pl_verdict {
    struct pl_option *option; /* NULL: the library's own call */
    long long bytes;
    size_t scratch; /* pl_scratch_bound; 0 for the tamper check */
};

/* What a table of counts and displacements contributes to a decision. */
struct pl_table {
    bool counts;           /* false: the table is not significant here */
    long long sum, spread; /* spread: the largest count less the smallest one */
    int own, first;        /* count and displacement of this rank's block */
};

/* A decision, with all arguments that it depends on. Only handles that nobody can free are
 * remembered: predefined datatypes and MPI's own operations. Other buffers than the last ones count
 * by their kinds and by their distance: calls whose buffers are `clash` bytes apart are not legal.
 */
struct pl_decision {
    bool made;
    int under_way;       /* calls that read `call`, which must stay as it is */
    struct pl_call call; /* its buffers are those of the last call */
    struct pl_table out, in;
    uintptr_t clash;
    struct pl_verdict way;
};
enum { PL_DECISIONS = 8 }; /* of calls of the application, and as many of inner calls */
enum {                     /* functions with a table, as bits */
       PL_HAS_TABLES = 1 << PL_FN_gatherv | 1 << PL_FN_scatterv | 1 << PL_FN_allgatherv |
                       1 << PL_FN_alltoallv | 1 << PL_FN_reduce_scatter
};

/* The rules of one function that can match on one communicator, by bytes, and the last decisions.
 * Not `known` before the first call; `untouched` where there are none and no call is recorded. */
struct pl_choice {
    bool known, untouched;
    int count;
    struct pl_option *options;
    struct pl_control *controls;   /* as many as options, where pl_state.share says so */
    struct pl_decision *decisions; /* 2 * PL_DECISIONS, where there are options */
    /* Of these, that of the last call of the application and of the last one inside a replacement,
     * which differ all the time; NULL before the first, and while recording. */
    struct pl_decision *last[2];
};

/* What is known of a communicator; lives and dies with it. */
struct pl_comm_state {
    struct pl_kept *kept;
    int p, rank;
    unsigned profile;    /* pl_state.number when the rules were chosen */
    bool inter, foreign; /* foreign: it has ranks of another job */
    bool located;        /* calls.c knows nodes and ranks a node (0: nobody could say) */
    int nodes, ppn;
    struct pl_choice choices[PL_FUNCTION_COUNT];
};

/* NULL where pl_comm_state_of must ask MPI. */
static inline struct pl_comm_state *pl_last_comm_state(MPI_Comm comm)
{
    const struct pl_kept *kept = pl_seen_on(comm);
    return kept ? kept->rules : NULL;
}

/* What is known of a communicator, with the rules of `function` chosen. The first call of a
 * function on a communicator is collective if a rule asks for nodes. An error went to the error
 * handler. */
int pl_comm_state_of(MPI_Comm comm, enum pl_function function, struct pl_comm_state **comm_state);

/* --- calls --- */

/* False if no rule is for the function: the call goes to the library as it is. Counts it. */
static inline bool pl_has_rules(enum pl_function function)
{
    struct pl_function_state *state = &pl_state.functions[function];
    pl_count(pl_state.threads, &state->calls, 1);
    return atomic_load_explicit(&state->first, memory_order_acquire) != NULL;
}

/* The call with what the rules say, or the library's own; recorded where that is asked for. */
int pl_replace(struct pl_call *call, struct pl_comm_state *comm_state);
/* The call that the decision is of, once more; what is in tables may have changed meanwhile. */
int pl_run_again(struct pl_decision *last, struct pl_comm_state *comm_state);
int pl_run_again_with_tables(struct pl_decision *last, struct pl_comm_state *comm_state);

/* --- arguments (arguments.c) --- */

/* False where the library would refuse the call, as far as this rank can see. */
bool pl_legal(const struct pl_call *call, const struct pl_comm_state *comm_state);

/* The distance of the buffers (recvbuf - sendbuf) at which the library would refuse such a call;
 * one that no buffers have where there is none. The call is legal, and its handles last. */
uintptr_t pl_clash(const struct pl_call *call, const struct pl_comm_state *comm_state);

/* False where an array is missing, or a count is negative. */
static inline bool pl_add_up(const int *counts, const int *displs,
                             const struct pl_comm_state *comm_state, struct pl_table *table)
{
    long long sum = 0;
    int least = INT_MAX, most = INT_MIN;
    if (!counts || !displs)
        return false;
    for (int i = 0; i < comm_state->p; i++) {
        sum += counts[i];
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
    }
    table->counts = true;
    table->sum = sum;
    table->spread = (long long)most - least;
    table->own = counts[comm_state->rank];
    table->first = displs[comm_state->rank];
    return least >= 0;
}

/* Bytes by which equal counts may differ. A type is another one on each rank of MPI_Allgatherv, so
 * bytes are compared: by all ranks the same ones. */
enum { PL_EQUAL_WITHIN = 16 };

/* Both tables of a call, as far as they are significant here. False where a table is missing or
 * has a negative count. */
bool pl_table_of(const struct pl_call *call, const struct pl_comm_state *comm_state,
                 struct pl_table *out, struct pl_table *in);
/* True if the handles that are significant here are known to be predefined. */
bool pl_lasts(const struct pl_call *call, const struct pl_comm_state *comm_state);

/* Whether this rank is a root that sends itself another block than it receives. Such a call is
 * never remembered: it runs by pl_run. */
bool pl_unfit(const struct pl_call *call, const struct pl_comm_state *comm_state);

/* pl_spec_run, where an empty signature is written as no elements by all ranks. */
int pl_run(const struct pl_spec *spec, const struct pl_call *call,
           const struct pl_comm_state *comm_state);

/* --- start and end --- */

/* Reads the profile, once. `collective`: called by all ranks of MPI_COMM_WORLD, so that rank 0
 * reads and all parse the same text; else each rank reads for itself. MPI must be initialised. */
void pl_load(bool collective);

/* Has pl_state changed at the end of MPI (state.c). */
void pl_await_end(void);

/* Writes the files that PLUMBLINE_REPORT and PLUMBLINE_CONTROL_OUT name, on rank 0, which says too
 * what did not go as the rules say. Collective where calls were compared. */
void pl_write_report(void);

/* --- the record of calls (calls.c) --- */

/* Takes this rank's part of its node's file in `folder`; false, with a message, where that cannot
 * be. `job` tells the ranks of one MPI_COMM_WORLD from others'. */
bool pl_calls_open(const char *folder, long long job);
/* `finished`: at the end; else, on all ranks, nothing is left of the file. */
void pl_calls_close(bool finished);
/* Learns nodes and ranks a node, once. Collective, in the first call of all ranks on a
 * communicator; another job may record nothing. */
int pl_calls_locate(MPI_Comm comm, struct pl_comm_state *comm_state);
/* Nanoseconds, and a call that began then and is over now. */
int64_t pl_calls_now(void);
void pl_calls_count(const struct pl_call *call, const struct pl_comm_state *comm_state,
                    int64_t start);

#endif
