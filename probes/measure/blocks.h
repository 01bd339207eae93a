/* The timed part: blocks of all cases in random order. */
#ifndef PL_BLOCKS_H
#define PL_BLOCKS_H

#include "clock/global.h"
#include "measure/arguments.h"
#include "measure/config.h"
#include "measure/counters.h"
#include "measure/delay.h"
#include "record.h"

struct pl_timing {
    const struct pl_plan *plan;
    const struct pl_config_state *configs;
    const struct pl_world *world;
    const struct pl_groups *groups;
    struct pl_buffers *buffers;
    struct pl_cache *cache;
    struct pl_global *global; /* out: this rank's model of the global clock */
    struct pl_record *record;
    struct pl_counters *counters;
    int *cases; /* indices of the cases to time: those that have been right so far */
    int case_count;
    struct pl_delay delay; /* this rank's, where a case has a delay */
    struct pl_spent spent; /* out, rank 0 */
};

/* Order of a block: `cases` permuted by the seed and the number of the block, equal on all ranks.
 */
void pl_block_order(uint64_t seed, int block, const int *cases, int count, int *order);

/* Collective. NULL, or what went wrong (on rank 0; elsewhere any text): memory is short, a timed
 * call returned an error, or the record could not be written. All ranks stop after the same block.
 */
const char *pl_blocks_run(struct pl_timing *timing);

#endif
