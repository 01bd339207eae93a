/* The order of sends and receives in which nothing is received before it is sent, whatever clocks
 * say (detect/traffic.py). */
#include "map.h"

/* Points (2 · message sends, 2 · message + 1 receives), by rank in the order of its own clock;
 * `time` by point. */
struct causal {
    int64_t points, ranks;
    const int64_t *time, *first, *at;
};

/* A rank whose next point may come next; the earliest first. */
struct ready {
    int64_t time, point, rank;
};

struct sorting {
    const struct causal *given;
    struct ready *heap;
    int64_t count;
    int64_t *head;    /* by rank: its next point */
    int64_t *waiting; /* by message: the rank that waits for it, or -1 */
    uint8_t *done;    /* by point */
};

static bool is_earlier(const struct ready *left, const struct ready *right)
{
    return left->time < right->time || (left->time == right->time && left->point < right->point);
}

static void put(struct sorting *sorting, struct ready ready)
{
    int64_t at = sorting->count++;
    for (; at && is_earlier(&ready, &sorting->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sorting->heap[at] = sorting->heap[(at - 1) / 2];
    sorting->heap[at] = ready;
}

static struct ready take(struct sorting *sorting)
{
    const struct ready first = sorting->heap[0], last = sorting->heap[--sorting->count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < sorting->count; at = child) {
        if (child + 1 < sorting->count &&
            is_earlier(&sorting->heap[child + 1], &sorting->heap[child]))
            child++;
        if (!is_earlier(&sorting->heap[child], &last))
            break;
        sorting->heap[at] = sorting->heap[child];
    }
    sorting->heap[at] = last;
    return first;
}

/* The next point of a rank may come, or waits for its message to be sent. */
static void offer(struct sorting *sorting, int64_t rank)
{
    const struct causal *given = sorting->given;
    const int64_t at = given->first[rank] + sorting->head[rank];
    if (at == given->first[rank + 1])
        return;
    const int64_t point = given->at[at];
    if (point % 2 && !sorting->done[point - 1])
        sorting->waiting[point / 2] = rank;
    else
        put(sorting, (struct ready){given->time[point], point, rank});
}

static void order(struct pl_answer *answer, const void *pointer)
{
    const struct causal *given = pointer;
    struct pl_store *store = answer->store;
    const size_t points = (size_t)given->points, ranks = (size_t)given->ranks;
    struct sorting *sorting = pl_get(store, 1, sizeof *sorting);
    sorting->given = given;
    sorting->heap = pl_get(store, ranks + 1, sizeof *sorting->heap);
    sorting->head = pl_get(store, ranks, sizeof *sorting->head);
    sorting->done = pl_get(store, points, sizeof *sorting->done);
    sorting->waiting = pl_get(store, points / 2, sizeof *sorting->waiting);
    for (size_t message = 0; message < points / 2; message++)
        sorting->waiting[message] = -1;
    struct pl_list found = {0};
    for (int64_t rank = 0; rank < given->ranks; rank++)
        offer(sorting, rank);
    while (sorting->count) {
        const struct ready next = take(sorting);
        sorting->done[next.point] = 1;
        pl_push(store, &found, next.point);
        sorting->head[next.rank]++;
        offer(sorting, next.rank);
        const int64_t rank = next.point % 2 ? -1 : sorting->waiting[next.point / 2];
        if (rank >= 0) {
            sorting->waiting[next.point / 2] = -1;
            offer(sorting, rank);
        }
    }
    for (int64_t i = 0; i < given->points; i++) /* circles: clocks of threads */
        if (!sorting->done[given->at[i]])
            pl_push(store, &found, given->at[i]);
    pl_answer_list(answer, &found);
}

/* All points; among those that may come next the earliest. */
PL_ENTRY struct pl_answer *pl_causal(int64_t points, int64_t ranks, const int64_t *time,
                                     const int64_t *first, const int64_t *at)
{
    return pl_answered(order, &(struct causal){points, ranks, time, first, at});
}
