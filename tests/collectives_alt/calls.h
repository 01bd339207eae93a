/* Random calls of collectives, legal for every library: the arguments of this rank, and memory with
 * guards around it. */
#ifndef PL_TEST_CALLS_H
#define PL_TEST_CALLS_H

#include "operators.h"
#include "topologies.h"
#include "typed_blocks.h"
#include "variant.h"

/* CALL_PLACES: blocks of a side, which are more than ranks where a neighbour is one several times.
 * CALL_TURN: functions that take turns. */
enum {
    CALL_RANKS = TYPED_RANKS,
    CALL_PLACES = 5 * CALL_RANKS,
    CALL_GUARD = 64,
    CALL_TURN = PL_FUNCTION_COUNT - 1
};

/* One side of a call: what it sends, or receives. */
struct side {
    struct form form;
    struct typed_blocks typed; /* of MPI_Alltoallw */
    int counts[CALL_PLACES], displs[CALL_PLACES];
    int own;                      /* the count of a call without tables */
    long first, elements;         /* of the form: the range that the call may touch */
    char *before, *ours, *theirs; /* memory of `bytes` each: as it was; of MPI_X; of PMPI_X */
    size_t bytes, room;
    long zero; /* where the buffer argument points, from the start of the memory */
};

/* A call on a communicator. */
struct random_call {
    enum pl_function function;
    struct pl_call ours, theirs; /* the same call twice, each on memory of its own */
    struct side side[2];
    struct operator_drawn reduction;
    int vector; /* elements of a reduction */
    int p, rank;
    const struct graph *graph; /* of the neighbours */
    char text[700];
};

/* Which calls are drawn. */
struct call_choice {
    unsigned long long seed;
    enum pl_function only; /* PL_FUNCTION_COUNT: all in turn */
};

/* Where they are made: `color` tells apart groups that call at the same time; the topology has the
 * same ranks as `comm`. */
struct call_group {
    MPI_Comm comm;
    int color;
    struct topology topology;
};

/* The function whose turn it is: any but MPI_Reduce_local. */
enum pl_function call_turn(long number);

/* Call number `number` of the seed. */
void random_call_make(struct random_call *call, const struct call_choice *choice, long number,
                      const struct call_group *group);
/* Frees the datatypes; memory is kept for the next call. */
void random_call_end(struct random_call *call);
void random_call_free(struct random_call *call);

#endif
