/* The memory of a launch, and the arguments of one case in it.
 *
 * Buffers are allocated once, for the largest case of the plan, page-aligned and touched. Around
 * the receive buffer lie guard zones of one page, which a check fills and looks at. */
#ifndef PL_ARGUMENTS_H
#define PL_ARGUMENTS_H

#include "measure/shape.h"
#include "measure/side.h"
#include "measure/world.h"
#include "plan.h"

struct pl_buffers {
    size_t guard; /* bytes before and after each buffer */
    unsigned char *send, *recv;
    unsigned char *pristine;        /* copy of the send buffer */
    unsigned char *reference;       /* the right result */
    unsigned char **references;     /* of each rank: this one's, simulated on rank 0 all ranks' */
    const struct pl_case *referred; /* whose result `reference` holds; NULL: nobody's */
    uint64_t referred_seed;         /* of its data */
    struct pl_contents {
        size_t elements; /* 0: of unknown data */
        int type, op, nprocs, rank;
        uint64_t seed;
    } sent;      /* what `send` begins with: arguments of pl_data_fill */
    int *counts; /* 4 p integers: sendcounts, sdispls, recvcounts, rdispls */
    void *memory[4];
};

/* For the largest of `count` cases. Collective. False when memory is short on any rank. */
bool pl_buffers_open(struct pl_buffers *buffers, const struct pl_case *cases, int count,
                     const struct pl_world *world);
void pl_buffers_close(struct pl_buffers *buffers);

/* Bytes of the buffers that a case needs on this rank of the launch. Those of a trial have room for
 * its circumstances (circumstance.h): for any half of the ranks, for data in place, and for gaps
 * and offsets as far as these take no more than PL_ROOM. */
#define PL_ROOM 65536
struct pl_arguments_size {
    size_t send, recv;
};

struct pl_arguments_size pl_arguments_size(const struct pl_case *c, const struct pl_world *world);

/* One case on this rank: what is called, and how large it is in bytes. */
struct pl_arguments {
    struct pl_call call;
    struct pl_shape shape;
    size_t send_bytes, recv_bytes;
    int op;                          /* index of types.h; -1 where the function does not reduce */
    int nprocs;                      /* operands of a reduction: 2 for Reduce_local */
    struct pl_placed sent, received; /* of a trial's call; zeros else */
    bool in_place;                   /* MPI_IN_PLACE stands for one of the buffers on this rank */
};

/* `world` is of the ranks that the case runs on. Counts go to buffers->counts, so one case is set
 * up at a time. */
void pl_arguments_set(struct pl_arguments *arguments, const struct pl_case *c,
                      const struct pl_world *world, const struct pl_buffers *buffers,
                      MPI_Comm comm);

/* Random data into the send buffer and, where it is read, the receive buffer, one element behind
 * the other: equal for all cases of the same type, op and size, so that candidates of a decision
 * compute the same; different on each rank. */
void pl_arguments_fill(const struct pl_arguments *arguments, const struct pl_case *c,
                       const struct pl_world *world, uint64_t seed);
/* The same for a call that is timed: does not write the send buffer if it holds these data, as no
 * call changes what it sends. Whoever writes the buffer otherwise sets buffers->sent.elements to 0.
 */
void pl_arguments_refill(const struct pl_arguments *arguments, const struct pl_case *c,
                         const struct pl_world *world, struct pl_buffers *buffers, uint64_t seed);

#endif
