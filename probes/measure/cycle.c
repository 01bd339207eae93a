#include "measure/cycle.h"

#include <stdlib.h>
#include <string.h>

bool pl_cycle_open(struct pl_cycle *cycle, const struct pl_world *world, int most)
{
    *cycle = (struct pl_cycle){.most = most, .mine = world->rank == 0};
    if (cycle->mine)
        cycle->board = calloc((size_t)most, sizeof *cycle->board);
    pl_p2p_broadcast(world, &cycle->board, (int)sizeof cycle->board);
    return cycle->board != NULL;
}

void pl_cycle_close(struct pl_cycle *cycle)
{
    if (cycle->mine)
        free(cycle->board);
    *cycle = (struct pl_cycle){0};
}

void pl_cycle_begin(struct pl_cycle *cycle)
{
    if (cycle->mine)
        memset(cycle->board, 0, (size_t)cycle->most * sizeof *cycle->board);
}

void pl_cycle_add(struct pl_cycle *cycle, int number, int64_t ns)
{
    if (ns > cycle->board[number])
        cycle->board[number] = ns;
}

/* By a thousandth and less times differ in cycles too: in their last digits, and where messages
 * share links. */
static bool agree(int64_t a, int64_t b)
{
    enum { ROUNDED_NS = 3, PART = 1000 };
    int64_t apart = a > b ? a - b : b - a;
    return apart <= ROUNDED_NS || apart <= a / PART;
}

/* The last `length` of `count` repetitions have been as those before them. */
static bool repeats(const int64_t *ns, int count, int length)
{
    for (int number = count - length; number < count; number++)
        if (!agree(ns[number], ns[number - length]))
            return false;
    return true;
}

int pl_cycle_found(const struct pl_cycle *cycle, int count)
{
    for (int length = 1; length <= PL_CYCLE_LONGEST && 2 * length <= count; length++)
        if (repeats(cycle->board, count, length))
            return length;
    return 0;
}
