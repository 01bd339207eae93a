/* A plan: what one launch is to measure (docs/plan-and-records.md). A plan is complete: no value is
 * made up here. Parsing is pure: no MPI call, no file; equal text gives equal plans, so every rank
 * parses what rank 0 has read. */
#ifndef PL_PLAN_H
#define PL_PLAN_H

#include "clock/algorithms/algorithms.h"
#include "clock/clock.h"
#include "measure/shape.h"
#include "nrep/nrep.h"
#include "overlap/work.h"
#include "sync/sync.h"
#include "use/arrivals.h"
#include "variant.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_json;      /* json.h */
struct pl_messages;  /* measure/replay.h */
struct pl_operation; /* pattern/pattern.h */
struct pl_pattern;
struct pl_plain; /* measure/plain.h */
struct pl_use;   /* use/use.h */

struct pl_knob {
    const char *name;
    const char *value;
};

/* What lines of a plan describe begins with the number of its line, from 1 on. */

struct pl_config {
    int line;
    const char *id;
    int knob_count;
    struct pl_knob *knobs;
};

#define PL_CONFIG_DEFAULT 0 /* configs[0] is always MPI_COMM_WORLD itself */

struct pl_case {
    int line;
    int id;
    enum pl_function function;            /* PL_FUNCTION_COUNT where there is a pattern */
    const struct pl_form *form;           /* non-blocking or persistent; NULL: as the function is */
    const struct pl_pattern *pattern;     /* NULL: a collective */
    const struct pl_operation *operation; /* of the pattern */
    /* As the plan has them; the variant is default, library, empty, one of the catalogue, or an
     * operation. */
    const char *function_name, *variant_name, *config_name;
    const struct pl_variant *variant;   /* NULL for default, library and empty */
    struct pl_spec spec;                /* the variant with its parameters */
    bool empty;                         /* nothing is called: what timer and start scheme leave */
    const struct pl_messages *messages; /* messages that are played in its place; NULL: none */
    int (*run)(const struct pl_call *call);
    int config; /* index into configs */
    long long bytes;
    enum pl_counts counts; /* measure/shape.h */
    int type, op;          /* indices of measure/types.h */
    int root;
    int ranks; /* the case runs on the first ones of MPI_COMM_WORLD; 0: on all */
    int reps;
    int calls;                /* of a trial, which is only checked; 0: the case is timed */
    long long least;          /* of a trial: its volumes are between this and `bytes` */
    long long mean;           /* of a trial: of its volumes, at most, where they are drawn */
    int64_t delay_ns;         /* planted: a busy wait after the call, on every rank */
    int by_rank;              /* 1: each rank's own times are recorded too */
    const struct pl_use *use; /* NULL: start scheme and run time are the plan's */
};

/* In which state the caches are when a repetition starts (measure/cache.h). */
enum pl_cache_mode { PL_CACHE_WARM, PL_CACHE_CYCLE, PL_CACHE_OVERWRITE };

/* Round trips of one message size, for every class of pairs of ranks. */
struct pl_pingpong {
    int line;
    int bytes;
    int reps;
};

struct pl_bench; /* overlap/bench.h */

/* A cell of an overlap benchmark: a message beside a fixed amount of work. */
struct pl_overlap {
    int line;
    int id;
    const struct pl_bench *bench;
    int bytes;
    int64_t work_ns; /* nominal: by the calibration */
    int64_t test_ns; /* of work between two MPI_Test; 0: none */
    enum pl_kernel kernel;
    enum pl_function function; /* of a collective benchmark; PL_FUNCTION_COUNT: of another one */
    const char *function_name; /* as the plan has it; NULL: of another benchmark */
    int requests;              /* pending at the same time, to each peer */
    int threads;               /* of computation or communication, by benchmark; 0: none */
    bool helper;               /* a thread of ours asks the library meanwhile */
    bool spare;                /* on a processing unit that no rank is bound to */
    int traced;                /* of how many last triples events are recorded */
    int triples;
};

enum pl_runtime { PL_RUNTIME_LOCAL, PL_RUNTIME_GLOBAL };

/* When knobs are written (measure/config.h). */
enum pl_switch { PL_SWITCH_COMMUNICATOR, PL_SWITCH_CALL, PL_SWITCH_START };

struct pl_plan {
    int line;   /* of the last line `set`; 0: there is none */
    char *text; /* the names below point into it */
    const char *run;
    uint64_t seed;
    int blocks, warmup, rewarm;
    int settle; /* repetitions to warm up at most, until times fall no more; 0: just `warmup` */
    int cycle;  /* simulated: repetitions at most until they repeat themselves; 0: `reps` */
    const struct pl_sync *sync;
    const struct pl_clock *clock;
    const struct pl_clock_sync *clock_sync; /* used where a global clock is needed */
    int clock_fit_ms;                       /* over how long a drift is learnt */
    int clock_multiple;           /* of the clock's residual error: shorter cases are refused */
    const struct pl_plain *plain; /* NULL: blocks in random order */
    const struct pl_use *use;     /* of cases that name none; NULL: as sync and runtime say */
    enum pl_runtime runtime;
    enum pl_switch knobs;
    int64_t window_us;           /* 0: by measurement */
    struct pl_arrivals arrivals; /* of cases with use=late */
    enum pl_cache_mode cache;
    uint64_t cache_bytes;     /* the area of `cycle`; 0: by the machine */
    struct pl_nrep_rule nrep; /* a stopping rule in place of blocks and reps, or beside them */
    int64_t budget_ms;        /* time limit; 0: none */
    int config_count, case_count, pingpong_count, overlap_count;
    struct pl_config *configs;
    struct pl_case *cases;
    struct pl_pingpong *pingpongs;
    struct pl_overlap *overlaps;
    struct pl_messages *messages;
};

/* Start scheme or run time of the case, or of some case, are by the global clock. */
bool pl_case_is_global(const struct pl_plan *plan, const struct pl_case *c);
bool pl_plan_is_global(const struct pl_plan *plan);

/* Of some cell events are recorded: stamps are on the global clock. */
bool pl_plan_is_traced(const struct pl_plan *plan);

struct pl_plan_error {
    int line;        /* 0: the plan as a whole */
    char token[128]; /* what is wrong, as it stands in the line; longer ones are cut */
    char why[384];   /* why, and what to write instead */
};

/* The kinds of lines that records echo (plan_parser.h). */
struct pl_line_kind;
extern const struct pl_line_kind pl_line_set, pl_line_case, pl_line_pingpong, pl_line_overlap;

/* Writes the keys from `first` to `last` of a line's table with the values that the item (a struct
 * pl_plan, pl_case, …) has, as members of the open object. */
void pl_plan_echo(struct pl_json *json, const struct pl_line_kind *line, const void *item,
                  const char *first, const char *last);

/* `text` (size bytes, from malloc, with room for one more byte) belongs to the plan from here on,
 * also after a failure. `nprocs` is 0 where it is not known: roots and counts are not checked then.
 * False: `error` is filled. Call pl_plan_free in both cases. */
bool pl_plan_parse(struct pl_plan *plan, char *text, size_t size, int nprocs,
                   struct pl_plan_error *error);
void pl_plan_free(struct pl_plan *plan);

#endif
