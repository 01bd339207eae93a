/* What a rule matches beside what races measure: other communicators, MPI_IN_PLACE, buffers at any
 * address, derived datatypes, operations of the program, parts of other
 * lengths. A trial draws these for each call. */
#ifndef PL_CIRCUMSTANCE_H
#define PL_CIRCUMSTANCE_H

#include "measure/arguments.h"
#include "measure/groups.h"
#include "measure/random.h"

enum pl_layout { PL_PLAIN, PL_GAPS, PL_PACKED, PL_WHOLE, PL_LAYOUTS };
enum pl_operator { PL_OF_MPI, PL_COMMUTES, PL_ORDERED, PL_OPERATORS };

struct pl_circumstance {
    enum pl_company company;
    bool in_place;
    enum pl_counts counts; /* of a function whose parts may differ in length */
    enum pl_operator operator;
    enum pl_layout sent, received;   /* the same on all ranks that have room for it */
    size_t send_offset, recv_offset; /* on this rank, in bytes */
    MPI_Datatype made[2];            /* to be freed after the call */
};

/* The operations of the program; between two trials there are none. */
void pl_operators_open(void);
void pl_operators_close(void);

/* `shared` gives the same on all ranks, `own` is this rank's. A `special` call may also be one that
 * not every rule is for: a library or a variant may go another way for it. */
struct pl_circumstance pl_circumstance_draw(struct pl_random *shared, struct pl_random *own,
                                            const struct pl_case *c, bool special);

/* Of a reduction by an operation of the program, into arguments that pl_arguments_set made: before
 * the right result is asked for. */
void pl_circumstance_operate(const struct pl_circumstance *circumstance,
                             struct pl_arguments *arguments);
/* The rest, after it. What finds no room, or is not allowed here, is left out, and the circumstance
 * says so. Returns an MPI error. */
int pl_circumstance_apply(struct pl_circumstance *circumstance, struct pl_arguments *arguments,
                          const struct pl_case *c, const struct pl_world *world,
                          const struct pl_buffers *buffers);
void pl_circumstance_end(struct pl_circumstance *circumstance);

/* ", in place, reversed communicator": the one of this rank. */
void pl_circumstance_text(const struct pl_circumstance *circumstance, char *text, size_t size);

#endif
