/* The control group of a profile (PLUMBLINE_CONTROL): a small random share of the calls that a rule
 * replaces goes to the library, so that a job measures what the rule saves. */
#ifndef PL_CONTROL_H
#define PL_CONTROL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define PL_CONFIDENCE 0.95

struct pl_option;
struct pl_comm_state;

/* Which side computes a call. Clocks are read around the calls of PL_TIMED and PL_LIBRARY. */
enum pl_side { PL_UNTIMED, PL_TIMED, PL_LIBRARY, PL_OFF };

/* What times of one rule's calls are compared with: the last times of calls of the same volume. A
 * block of calls is compared with what is known before it. */
struct pl_usual {
    uint32_t block;                /* 0: none yet */
    float limit, middle;           /* during this block */
    float next_limit, next_middle; /* after it */
};

enum { PL_OCTAVES = 64 };

/* One rule on one communicator. Calls of a block are all on one side. */
struct pl_control {
    bool begun;
    bool off;          /* all ranks of the communicator know that the rule is slower */
    uint64_t calls;    /* with those that pl_option.plain stands for */
    double before;     /* calls of a rank by this rule when this communicator began */
    uint32_t salt;     /* tells this communicator from others of the same ranks */
    enum pl_side side; /* of the block */
    int timed;         /* calls of the block, with the sums of their times and middles */
    double sum, middles;
    struct pl_usual usual[PL_OCTAVES]; /* by the octave of the volume */
};

/* What all ranks together know of a rule at the end; nanoseconds and seconds of a rank. */
struct pl_outcome {
    int ranks; /* that made calls */
    double replaced, controlled;
    bool measured;
    double compared;                              /* calls that the times stand for */
    double replaced_ns, library_ns, saving, half; /* half of the interval's width */
    long long off_at;                             /* calls of a rank; -1: never */
};

/* Reads PLUMBLINE_CONTROL on rank 0, into pl_state; an impossible value is reported. */
void pl_control_read(void);
/* Memory for what this process knows of its rules. */
bool pl_control_begin(void);

/* The side of the next call of a rule on `comm`, which is the same on all ranks. Every thousandth
 * call there is collective. Not asked while option->plain has calls. */
enum pl_side pl_control_next(MPI_Comm comm, struct pl_comm_state *comm_state,
                             struct pl_option *option);
/* True if the call that pl_control_next was asked about last is to be timed. */
bool pl_control_times(const struct pl_control *control);
/* A call of so many bytes took so long. */
void pl_control_took(struct pl_option *option, long long bytes, int64_t ns);

/* Collective over MPI_COMM_WORLD: the outcomes of all rules, on rank 0, which keeps them until the
 * end; NULL elsewhere, and where they could not be had. */
const struct pl_outcome *pl_control_end(void);

#endif
