/* Random calls of collectives, legal for every library: the arguments of this rank, and memory with
 * guards around it. */
#ifndef PL_TEST_CALLS_H
#define PL_TEST_CALLS_H

#include "operators.h"
#include "variant.h"

enum { CALL_RANKS = 64, CALL_GUARD = 64 };

/* One side of a call: what it sends, or receives. */
struct side {
    struct form form;
    int counts[CALL_RANKS], displs[CALL_RANKS];
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
    char text[700];
};

/* Call number `number` of the seed. Functions take turns, unless one is `only` asked for
 * (PL_FUNCTION_COUNT: none). `color` tells apart groups that call at the same time. */
void random_call_make(struct random_call *call, unsigned long long seed, long number,
                      enum pl_function only, int color, MPI_Comm comm);
/* Frees the datatypes; memory is kept for the next call. */
void random_call_end(struct random_call *call);
void random_call_free(struct random_call *call);

#endif
