/* Round-time synchronisation: before each repetition rank 0 announces a start time on the global
 * clock; after it all ranks agree whether everybody was there in time; if not, it is repeated,
 * until there are as many as asked for or the budget of the case is used up (Hunold and
 * Carpen-Amarie, Hierarchical clock synchronization in MPI, IEEE CLUSTER 2018, section 5;
 * ReproMPI). The agreement is our own messages, so the function under test carries none of it. A
 * repetition costs two trees more than one of the window scheme, and none is lost to a window that
 * is too short. */
#include "measure/world.h"
#include "sync/round.h"

#include <stdlib.h>

static bool open_round(struct pl_start *start)
{
    struct pl_round *round = calloc(1, sizeof *round);
    start->own = round;
    if (pl_p2p_agree(start->world, !round))
        return false;
    pl_announce_open(&round->announce, start);
    return true;
}

static void close_round(struct pl_start *start)
{
    free(start->own);
    start->own = NULL;
}

static bool start_round(struct pl_start *start)
{
    return pl_round_start(start->own, start, 0);
}

static enum pl_validity finish(struct pl_start *start, int64_t begin_ns, int64_t end_ns)
{
    (void)begin_ns;
    (void)end_ns;
    return pl_round_finish(start->own, start);
}

const struct pl_sync pl_sync_roundtime = {
    .name = "roundtime",
    .summary = "a start time announced for each repetition; late ones are repeated",
    .global_clock = true,
    .budget = true,
    .repeats = true,
    .open = open_round,
    .close = close_round,
    .start = start_round,
    .finish = finish,
};
