/* Messages of an application, played again: what each rank sends and receives, in which order. A
 * plan has them as lines `messages`; a case plays one with variant=replay:messages=ID. */
#ifndef PL_REPLAY_H
#define PL_REPLAY_H

#include "measure/arguments.h"
#include "variant.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum pl_step_kind {
    PL_STEP_SEND,
    PL_STEP_SSEND,
    PL_STEP_ISEND,
    PL_STEP_ISSEND,
    PL_STEP_RECV,
    PL_STEP_IRECV,
    PL_STEP_WAIT,
};

/* A message is known by its two ranks and its tag. Each is received into a place of its own, and
 * sent from the begin of the buffer. */
struct pl_step {
    enum pl_step_kind kind;
    int peer; /* of a wait: which of the rank's requests, by the order in which they were begun */
    int bytes, tag;
    size_t place; /* of a receive: in the buffer */
};

struct pl_rank_steps {
    int count, request_count;
    struct pl_step *steps;
    MPI_Request *requests;
    size_t send_bytes, recv_bytes; /* of its buffers */
};

struct pl_messages {
    const char *id;
    int ranks; /* the number of those that have steps, and of those below them */
    struct pl_rank_steps *of_rank;
    struct pl_messages *next;
};

/* All steps of the rank that call->messages belongs to, on call->comm. */
int pl_replay_run(const struct pl_call *call);

/* Plays it once, and looks whether from each rank came what that rank sends. False: `detail` says
 * from whom something else came. */
bool pl_replay_check(const struct pl_arguments *arguments, const struct pl_world *world, int *rc,
                     char *detail, size_t size);

#endif
