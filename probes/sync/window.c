/* Windows on the global clock: repetition i starts at epoch + i * window on all ranks, without a
 * message in between (SKaMPI; section 3.2.1 of Hunold and Carpen-Amarie, Reproducible MPI
 * Benchmarking is Still Not as Easy as You Think, IEEE TPDS 27, 2016). A repetition is late where a
 * rank found its start passed; it is counted and dropped, on every rank alike. It overruns where a
 * rank ended after the next start. The paper drops that too; here it is counted and kept, for it
 * began in time, and who leaves out the longest calls makes the others' median shorter.
 *
 * Windows come in batches, each with an epoch of its own, so that one long repetition ruins no
 * more than its batch; the last batch of a series may be shorter. A batch is as long as ten
 * announcements, or has the least or the most of windows; where no window has been found yet it
 * begins with the least and doubles. After a batch the ranks agree how many windows were too short.
 * When they are more than a quarter of it, the window is doubled, or becomes twice the median time
 * of the batch where that is more. Else a window that is four times as wide as it would begin with
 * becomes twice as wide, and where none was too short, one that is wider loses a quarter of what is
 * too much: one disturbance is not paid for as long as the launch lasts. What is late only because
 * of the one before, or because a rank lost its core while it waited, says nothing about the
 * window. */
#include "ascending.h"
#include "measure/world.h"
#include "sync/announce.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BATCH = 8, MOST_BATCH = 64, ANNOUNCEMENTS = 10 };
enum { LEAST_NS = 250, FAR = 4 };

struct window {
    struct pl_announce announce;
    int64_t epoch_ns;              /* global clock */
    int most;                      /* windows of the next batch, unless it lasts too long */
    int batch;                     /* windows of the one under way, alike on all ranks */
    int index;                     /* of the window under way in its batch */
    enum pl_arrival arrival;       /* at the start of the window under way */
    bool after_invalid;            /* the one before was not valid on this rank */
    bool first_missed;             /* of the first window of the batch: the epoch came too late */
    int64_t too_short[MOST_BATCH]; /* on this rank */
    int64_t took_ns[MOST_BATCH];   /* on this rank */
};

/* Of a repetition that takes so long: a quarter longer, for the next one to begin in time. */
static int64_t usual_window(int64_t took_ns)
{
    return took_ns + took_ns / 4 + LEAST_NS;
}

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
    const bool found = start->window_ns != start->least_window_ns;
    if (start->window_ns == 0)
        start->window_ns = usual_window(estimate_ns);
    window->most = found ? MOST_BATCH : LEAST_BATCH;
    window->index = 0;
}

/* After a batch of `count` windows: rank 0 widens or narrows the window, and announces the next one
 * further ahead or less far. */
static void settle(struct pl_start *start, int count)
{
    struct window *window = start->own;
    int64_t words[2 * MOST_BATCH + 1], *took_ns = words, *short_ones = words + count;
    int too_short = 0;
    memcpy(took_ns, window->took_ns, (size_t)count * sizeof *words);
    memcpy(short_ones, window->too_short, (size_t)count * sizeof *words);
    words[2 * count] = window->first_missed;
    pl_p2p_maximum(start->world, words, 2 * count + 1);
    if (start->world->rank > 0)
        return;
    pl_announce_learn(&window->announce, words[2 * count] != 0);
    for (int i = 0; i < count; i++)
        too_short += short_ones[i] != 0;
    qsort(took_ns, (size_t)count, sizeof *took_ns, pl_by_ns);
    int64_t median = took_ns[count / 2], enough = usual_window(median);
    if (enough < start->least_window_ns)
        enough = start->least_window_ns;
    if (4 * too_short > count)
        start->window_ns = 2 * (median > start->window_ns ? median : start->window_ns);
    else if (start->window_ns > FAR * enough)
        start->window_ns = 2 * enough;
    else if (too_short == 0 && start->window_ns > enough)
        start->window_ns -= (start->window_ns - enough) / 4;
}

/* A batch; the last one is shorter where the series ends in it. */
static void end(struct pl_start *start)
{
    struct window *window = start->own;
    if (window->index > 0)
        settle(start, window->index);
    window->index = 0;
}

/* The next batch; false, on all ranks, when the budget is used up. */
static bool open_batch(struct pl_start *start)
{
    struct window *window = start->own;
    if (!pl_announce_next(&window->announce, start, &window->epoch_ns, &start->window_ns))
        return false;
    int64_t windows = ANNOUNCEMENTS * window->announce.cost_ns / start->window_ns;
    window->batch = windows < LEAST_BATCH    ? LEAST_BATCH
                    : windows < window->most ? (int)windows
                                             : window->most;
    window->most = 2 * window->batch < MOST_BATCH ? 2 * window->batch : MOST_BATCH;
    return true;
}

static bool start_window(struct pl_start *start)
{
    struct window *window = start->own;
    if (window->index > 0 && window->index == window->batch)
        end(start);
    if (window->index == 0 && !open_batch(start))
        return false;
    window->arrival = pl_announce_wait(&window->announce, start,
                                       window->epoch_ns + window->index * start->window_ns);
    return true;
}

static enum pl_validity finish(struct pl_start *start, int64_t begin_ns, int64_t end_ns)
{
    struct window *window = start->own;
    int i = window->index++;
    int64_t next = window->epoch_ns + window->index * start->window_ns;
    bool overrun = pl_model_apply(start->global, end_ns) > next;
    bool late = window->arrival != PL_IN_TIME, missed = window->arrival == PL_MISSED;
    if (i == 0)
        window->first_missed = missed;
    window->took_ns[i] = end_ns - begin_ns;
    window->too_short[i] =
        window->took_ns[i] > start->window_ns || (missed && i > 0 && !window->after_invalid);
    window->after_invalid = late || overrun;
    return late ? PL_LATE : overrun ? PL_OVERRUN : PL_VALID;
}

const struct pl_sync pl_sync_window = {
    .name = "window",
    .summary = "start times on the global clock, one window apart",
    .global_clock = true,
    .budget = true,
    .windows = true,
    .open = open_window,
    .close = close_window,
    .begin = begin,
    .start = start_window,
    .finish = finish,
    .end = end,
};
