/* Windows on the global clock: repetition i starts at epoch + i * window on all ranks, without a
 * message in between (SKaMPI; section 3.2.1 of Hunold and Carpen-Amarie, Reproducible MPI
 * Benchmarking is Still Not as Easy as You Think, IEEE TPDS 27, 2016). A repetition is late where a
 * rank found its start passed, and overruns where a rank ended after the next start; both are
 * counted and dropped, on every rank alike.
 *
 * Windows come in batches, each with an epoch of its own, so that one long repetition spoils no
 * more than its batch. After a batch the ranks agree how many windows were too short; when they are
 * more than a quarter of it, the window is doubled. What is late only because of the one before
 * says nothing about the window. */
#include "measure/world.h"
#include "sync/announce.h"

#include <stdlib.h>

enum { BATCH = 8, LEAST_NS = 10000 };

struct window {
    struct pl_announce announce;
    int64_t epoch_ns;         /* global clock */
    int index;                /* of the window under way in its batch */
    bool fresh;               /* no batch of this case is behind us */
    bool late;                /* the start of the window under way had passed */
    bool after_invalid;       /* the one before was not valid on this rank */
    bool first_late;          /* of the first window of the batch: the epoch came too late */
    int64_t too_short[BATCH]; /* on this rank */
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

/* Rank 0 widens the window, or announces further ahead, after a bad batch. */
static void settle(struct pl_start *start)
{
    struct window *window = start->own;
    int64_t words[BATCH + 1];
    int too_short = 0;
    for (int i = 0; i < BATCH; i++)
        words[i] = window->too_short[i];
    words[BATCH] = window->first_late;
    pl_p2p_maximum(start->world, words, BATCH + 1);
    for (int i = 0; i < BATCH; i++)
        too_short += words[i] != 0;
    if (start->world->rank > 0)
        return;
    pl_announce_learn(&window->announce, words[BATCH] != 0);
    if (4 * too_short > BATCH)
        start->window_ns *= 2;
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
    int i = window->index++;
    int64_t next = window->epoch_ns + window->index * start->window_ns;
    bool overrun = pl_model_apply(start->global, end_ns) > next;
    if (i == 0)
        window->first_late = window->late;
    window->too_short[i] =
        end_ns - begin_ns > start->window_ns || (window->late && i > 0 && !window->after_invalid);
    window->after_invalid = window->late || overrun;
    return window->late ? PL_LATE : overrun ? PL_OVERRUN : PL_VALID;
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
