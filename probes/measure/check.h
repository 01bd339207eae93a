/* Correct before fast: one case on random data against the right result. */
#ifndef PL_CHECK_H
#define PL_CHECK_H

#include "measure/arguments.h"
#include "measure/config.h"

/* In order of gravity: ranks agree on the gravest. */
enum pl_outcome { PL_OK, PL_NOT_IN_FORCE, PL_UNSUPPORTED, PL_WRONG, PL_ERROR };

const char *pl_outcome_name(enum pl_outcome outcome);

struct pl_finding {
    char detail[320];
};

/* The steps of a check, for what begins and ends a call in its own way. Fresh data, and a pattern
 * over the receive buffer and its guards. */
void pl_check_prepare(const struct pl_arguments *arguments, const struct pl_case *c,
                      const struct pl_world *world, const struct pl_buffers *buffers,
                      uint64_t seed);
/* Whether what came is buffers->reference, the send buffer still buffers->pristine, and nothing
 * else was written. PL_WRONG: `detail` (of `size` bytes) says what. */
enum pl_outcome pl_check_compare(const struct pl_arguments *arguments, const struct pl_case *c,
                                 const struct pl_buffers *buffers, char *detail, size_t size);

/* A case on the ranks that it runs on. */
struct pl_place {
    const struct pl_config_state *config;
    MPI_Comm comm, reference; /* of the config, and the library's own */
    const struct pl_world *world;
};

/* One call on these ranks, or the messages of a replay; the outcome is equal on all of them. The
 * detail (known on rank 0) is that of the lowest rank with that outcome. */
enum pl_outcome pl_check(const struct pl_case *c, const struct pl_place *place,
                         struct pl_buffers *buffers, uint64_t seed, struct pl_finding *finding);

#define PL_SAID 160

/* The right result to buffers->reference. Where this rank cannot compute it alone, the library does
 * with config `default`, whatever the variant thinks of the arguments. Returns an MPI error. */
int pl_check_refer(struct pl_arguments *arguments, const struct pl_case *c,
                   const struct pl_place *place, const struct pl_buffers *buffers, uint64_t seed);
/* The call itself, and what came of it on this rank. */
enum pl_outcome pl_check_call(const struct pl_arguments *arguments, const struct pl_case *c,
                              const struct pl_place *place, const struct pl_buffers *buffers,
                              uint64_t seed, char *detail, size_t size);
/* All ranks learn the gravest outcome, rank 0 the detail of the first rank that has it. */
enum pl_outcome pl_check_conclude(enum pl_outcome mine, const struct pl_world *world,
                                  const char *detail, struct pl_finding *finding);

#endif
