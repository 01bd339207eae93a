/* An overlap benchmark: what ranks do in one repetition (A. Denis, F. Trahay, "MPI Overlap:
 * Benchmark and Analysis", ICPP 2016, section III.D). One a file; benches.def lists them. */
#ifndef PL_BENCH_H
#define PL_BENCH_H

#include "overlap/calls.h"

/* Who takes part; all others sleep. */
enum pl_players {
    PL_PAIR,       /* rank 0 is active, the last rank passive */
    PL_ONE_ACTIVE, /* rank 0 is active, all others are passive */
    PL_ALL_ACTIVE  /* a barrier before each repetition; every rank takes its time */
};

/* The measured time is (that of the sequence - `latencies` times that of an empty message) /
 * `halves`. Active ranks take it. */
struct pl_bench {
    const char *name, *summary;
    enum pl_layout layout;
    enum pl_players players;
    int latencies, halves;
    bool in_blocks; /* on rank 0 a block of memory for each rank, at its number, in place of one */
    /* Where blocks go: from every passive rank to the active one, and the other way; of all active
     * ranks to the next one, of the last to rank 0. */
    bool to_active;
    bool to_passive;
    int level;    /* MPI_THREAD_… that it needs; 0, MPI_THREAD_SINGLE, for none */
    bool threads; /* it has some: a plan says how many; one message each, or of the rank's own */
    int64_t (*active)(const struct pl_exchange *exchange); /* nanoseconds */
    void (*passive)(const struct pl_exchange *exchange);
    /* In the part without messages, on all players; NULL: the work of a exchange, on active ranks.
     */
    int64_t (*computation)(const struct pl_exchange *exchange);
    /* Data for a repetition, and whether it has delivered them; both NULL: blocks of the layout
     * (delivery.h), in memory for them. */
    void (*fill)(const struct pl_exchange *exchange);
    bool (*holds)(const struct pl_exchange *exchange);
};

#define PL_OVERLAP(name) extern const struct pl_bench pl_overlap_##name;
#include "overlap/benches.def"
#undef PL_OVERLAP

extern const bool pl_openmp_is_built; /* the compiler knew OpenMP */

extern const struct pl_bench *const pl_benches[];
extern const int pl_bench_count;

#endif
