/* Windows on the global clock: repetition i starts at epoch + i * window on all ranks, without a
 * message in between (SKaMPI; section 3.2.1 of Hunold and Carpen-Amarie, Reproducible MPI
 * Benchmarking is Still Not as Easy as You Think, IEEE TPDS 27, 2016). A repetition is late where a
 * rank found its start passed, and overruns where a rank ended after the next start; both are
 * counted and dropped, on every rank alike.
 *
 * Windows come in batches, each with an epoch of its own. After a batch the ranks agree how many of
 * it were invalid; when they are more than a tenth the window is doubled: a window that is too
 * short makes all that follow late. */
#include "measure/world.h"
#include "sync/announce.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, LEAST_NS = 10000 };

struct window {
    struct pl_announce announce;
    int64_t epoch_ns;       /* global clock */
    int index;              /* of the window under way in its batch */
    bool fresh;             /* no batch of this case is behind us */
    bool late;              /* the start of the window under way had passed */
    int64_t invalid[BATCH]; /* of this rank: enum pl_validity */
};

static bool open_window(struct pl_start *start)
{
    struct window *window = calloc(1, sizeof *window);
    start->own = window;
    if (pl_p2p_agree(start->world, !window))
        return false;
    pl_announce_open(&window->announce, start);
    return true;
}

static void close_window(struct pl_start *start)
{
    free(start->own);
    start->own = NULL;
}

static void begin(struct pl_start *start, int64_t estimate_ns)
{
    struct window *window = start->own;
    if (start->window_ns == 0)
        start->window_ns = 3 * estimate_ns + LEAST_NS;
    window->index = BATCH;
    window->fresh = true;
}

/* Rank 0 widens the window after a bad batch. */
static void settle(struct pl_start *start)
{
    struct window *window = start->own;
    int invalid = 0;
    pl_p2p_maximum(start->world, window->invalid, BATCH);
    for (int i = 0; i < BATCH; i++)
        invalid += window->invalid[i] != PL_VALID;
    if (start->world->rank == 0) {
        pl_announce_learn(&window->announce, window->invalid[0] == PL_LATE);
        if (10 * invalid > BATCH)
            start->window_ns *= 2;
    }
}

static bool start_window(struct pl_start *start)
{
    struct window *window = start->own;
    if (window->index == BATCH) {
        if (!window->fresh)
            settle(start);
        window->fresh = false;
        window->index = 0;
        if (!pl_announce_next(&window->announce, start, &window->epoch_ns, &start->window_ns))
            return false;
    }
    window->late = !pl_announce_wait(start, window->epoch_ns + window->index * start->window_ns);
    return true;
}

static enum pl_validity finish(struct pl_start *start, int64_t begin_ns, int64_t end_ns)
{
    struct window *window = start->own;
    (void)begin_ns;
    int64_t next = window->epoch_ns + (window->index + 1) * start->window_ns;
    enum pl_validity validity = window->late                                   ? PL_LATE
                                : pl_model_apply(start->global, end_ns) > next ? PL_OVERRUN
                                                                               : PL_VALID;
    window->invalid[window->index++] = validity;
    return validity;
}

const struct pl_sync pl_sync_window = {
    .name = "window",
    .summary = "start times on the global clock, one window apart",
    .global_clock = true,
    .needs_estimate = true,
    .open = open_window,
    .close = close_window,
    .begin = begin,
    .start = start_window,
    .finish = finish,
};
