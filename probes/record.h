/* The record file (docs/plan-and-records.md): one JSON object a line, written to FILE.part, flushed
 * line by line, renamed to FILE when whole. record.c is the file; all records and their fields are
 * written in record_launch.c, record_case.c, record_overlap.c and record_clock.c.
 *
 * On ranks other than 0 a record is silent: every call does nothing and none fails. */
#ifndef PL_RECORD_H
#define PL_RECORD_H

#include "json.h"
#include "measure/cache.h"
#include "measure/config.h"
#include "plan.h"
#include "system/factors.h"
#include "system/load.h"
#include "system/placement.h"

#include <stdbool.h>
#include <stdint.h>

struct pl_record {
    struct pl_json json;
    char *path, *part;
    long under_way; /* where the line of what is timed is in the file; 0: there is none */
    char *mapped;   /* that line in memory; NULL: the file cannot be mapped */
    int error;      /* errno of the first write that failed; what follows is not written */
};

/* What the header says besides the plan. */
struct pl_record_facts {
    int nprocs;
    int processing_units;
    const struct pl_placement *placement;
    struct pl_clock_quality clock;
    const struct pl_cache *cache;
    const struct pl_factors *factors;
};

void pl_record_silent(struct pl_record *record);
bool pl_record_open(struct pl_record *record, const char *path); /* false: see record->error */
/* Whole: to disk, then renamed. False: see record->error; the .part file stays. */
bool pl_record_finish(struct pl_record *record);
/* Give up; the .part file stays. Does nothing after pl_record_finish. */
void pl_record_abandon(struct pl_record *record);

/* A line: its kind, then any members, then its end. */
struct pl_json *pl_record_start(struct pl_record *record, const char *kind);
void pl_record_end(struct pl_record *record);

void pl_record_header(struct pl_record *record, const struct pl_plan *plan,
                      const struct pl_record_facts *facts);
void pl_record_config(struct pl_record *record, const struct pl_config *config,
                      const struct pl_config_state *state);
void pl_record_case(struct pl_record *record, const struct pl_case *c, int64_t bytes_moved);
void pl_record_begin(struct pl_record *record, int case_id);
void pl_record_check(struct pl_record *record, int case_id, const char *outcome,
                     const char *detail);
/* `order` holds `count` indices into the plan's cases; the record gives their ids. */
void pl_record_order(struct pl_record *record, int block, const struct pl_plan *plan,
                     const int *order, int count);
/* What is timed from now on, for whoever finds a file without its end. The line is always the same
 * one, written over; pl_record_timed takes the case out of it. */
void pl_record_under_way(struct pl_record *record, int block, int case_id);
void pl_record_timed(struct pl_record *record);
struct pl_series; /* what its last run found */
void pl_record_rank_samples(struct pl_record *record, int case_id, int block,
                            const struct pl_series *series);
struct pl_tally; /* all that a case has taken */
void pl_record_samples(struct pl_record *record, int case_id, const struct pl_tally *tally,
                       const struct pl_counters *counters);
/* A case is at its end: after so many samples, ended by criteria, maximum or budget. */
void pl_record_nrep(struct pl_record *record, int case_id, int nrep, const char *ended_by,
                    const struct pl_nrep_rule *rule, const double *values);
/* The round trips of a line of the plan between two ranks, line->reps of them. */
void pl_record_pingpong(struct pl_record *record, int first, int second, const char *pair,
                        const struct pl_pingpong *line, const int64_t *ns);
/* `ns`: of communication, computation and both on `rank`, cell->triples each; NULL where the data
 * that came were not those that were sent. `sent`: bytes of a message. */
void pl_record_overlap(struct pl_record *record, const struct pl_overlap *cell, int rank,
                       int64_t sent, int64_t units, const int64_t *ns);
struct pl_trace; /* overlap/trace.h */
/* The events of `rank`, on the global clock: a record for each repetition. */
void pl_record_overlap_trace(struct pl_record *record, const struct pl_overlap *cell, int rank,
                             const struct pl_trace *trace);
void pl_record_overlap_latency(struct pl_record *record, const char *when, const int64_t *ns,
                               int count);
void pl_record_clock_sync(struct pl_record *record, const char *algorithm, int domains,
                          int64_t took_ns);
void pl_record_clock_model(struct pl_record *record, int domain, const char *host, int rank,
                           const struct pl_model *model);
struct pl_global_error; /* by domain */
void pl_record_clock_error(struct pl_record *record, const char *when, int64_t since_ns,
                           const struct pl_global_error *errors, int domains);
/* The samples of the first blocks are not of what the case has come to. */
void pl_record_transit(struct pl_record *record, int case_id, int blocks);
void pl_record_refused(struct pl_record *record, int case_id, const char *reason);
/* `trips_ns`: round trips between ranks 0 and 1, before and after all else. */
void pl_record_load(struct pl_record *record, const struct pl_hosts *hosts,
                    const struct pl_host_load *loads, const int64_t trips_ns[2]);
/* Where the time of a launch went, on rank 0, in nanoseconds: `start` until the first check,
 * `checks` before, between and after blocks, `timed` in timed regions, `warmup` that part of it
 * whose times are no results. What is left of the launch is synchronisation and what is written. */
struct pl_spent {
    int64_t start_ns;
    int64_t checks_ns;
    int64_t timed_ns;
    int64_t warmup_ns;
};
void pl_record_footer(struct pl_record *record, int cases, const struct pl_spent *spent,
                      int64_t wall_ns);

#endif
