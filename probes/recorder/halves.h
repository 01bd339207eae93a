/* A call of a collective, in whatever form: what a rank gives and what it gets are an event each.
 * The functions themselves are in collectives.c. */
#ifndef PL_RECORDER_HALVES_H
#define PL_RECORDER_HALVES_H

#include "recorder.h"

struct pl_halves {
    struct pl_slot *input, *output;
};

/* What all ranks but for their data say of a call. */
struct pl_collective_call {
    enum pl_begins function;
    uint32_t flags;
    int root;
    MPI_Op operation;
    MPI_Comm comm;
    const struct pl_member *member; /* of `comm`, and ranks of the call below */
    int sources, targets;           /* ranks that this one gets parts from, and gives parts to */
};

/* False where the call is not recorded. */
bool pl_prepare(struct pl_collective_call *call, bool neighbours);

struct pl_halves pl_begin_halves(const struct pl_collective_call *call, const struct pl_data *input,
                                 const struct pl_data *output, int32_t site);
/* A blocking call has returned. */
void pl_end_halves(const struct pl_halves *halves, const struct pl_data *output, int rc);
/* The call has begun what its request completes (requests.c). */
void pl_remember_halves(const struct pl_halves *halves, const struct pl_data *output, int rc,
                        const MPI_Request *request);
/* Each start of the request begins it anew. */
void pl_remember_collective(const struct pl_collective_call *call, const struct pl_data *input,
                            const struct pl_data *output, int rc, const MPI_Request *request);

#endif
