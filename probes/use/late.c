/* Ranks that do not come to a call together, as in applications (Faraj, Patarasuk and Yuan, A study
 * of process arrival patterns for MPI collective operations, International Journal of Parallel
 * Programming 36, 2008): rank 0 announces a time on the global clock, each rank begins at that time
 * plus its offset. A sample is the time from the last arrival to the last end: what the last rank
 * still has to wait for once all are there. Work that a function does before is not in it.
 *
 * As in round-time synchronisation a repetition for which some rank was late, for its own arrival,
 * is repeated, with the same offsets. The n-th valid repetition of a block has the same draw in
 * every case, so that what is compared has met the same arrivals. */
#include "measure/world.h"
#include "sync/round.h"
#include "use/arrivals.h"
#include "use/use.h"

#include <stdlib.h>

struct late {
    struct pl_round round;
    uint64_t index; /* of the repetition in its series */
};

static bool open_late(struct pl_start *start)
{
    struct late *late = calloc(1, sizeof *late);
    start->own = late;
    if (pl_p2p_agree(start->world, !late))
        return false;
    pl_announce_open(&late->round.announce, start);
    return true;
}

static void close_late(struct pl_start *start)
{
    free(start->own);
    start->own = NULL;
}

static void begin(struct pl_start *start, int64_t estimate_ns)
{
    struct late *late = start->own;
    late->index = 0;
    if (start->arrivals->text)
        start->window_ns = start->arrivals->ns;
    else if (start->window_ns == 0)
        start->window_ns = estimate_ns;
}

static bool start_late(struct pl_start *start)
{
    struct late *late = start->own;
    uint64_t turn = (uint64_t)start->block << 32 | late->index;
    int64_t offset_ns = pl_arrivals_offset(start->arrivals, start->window_ns, start->seed, turn,
                                           start->world->rank, start->world->size);
    return pl_round_start(&late->round, start, offset_ns);
}

static enum pl_validity finish(struct pl_start *start, int64_t begin_ns, int64_t end_ns)
{
    struct late *late = start->own;
    (void)begin_ns;
    (void)end_ns;
    enum pl_validity validity = pl_round_finish(&late->round, start);
    late->index += validity == PL_VALID;
    return validity;
}

static const struct pl_sync arrivals = {
    .name = "arrivals",
    .summary = "a time announced for each repetition, and an offset of each rank from it",
    .global_clock = true,
    .budget = true,
    .arrivals = true,
    .repeats = true,
    .open = open_late,
    .close = close_late,
    .begin = begin,
    .start = start_late,
    .finish = finish,
};

const struct pl_use pl_use_late = {
    .name = "late",
    .summary = "ranks arrive at times of their own; from the last arrival to the last end",
    .scheme = &arrivals,
    .span = PL_SPAN_LAST_TO_LAST,
};
