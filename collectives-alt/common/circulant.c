/* Schedules of blocks on a circulant graph. */
#include "circulant.h"

#include <stdbool.h>

struct pl_circulant pl_circulant_of(int p, int blocks)
{
    struct pl_circulant graph = {.p = p, .blocks = blocks};
    while ((p - 1) >> graph.q > 0)
        graph.q++;
    graph.skip[graph.q] = p;
    for (int k = graph.q - 1; k >= 0; k--)
        graph.skip[k] = graph.skip[k + 1] / 2 + graph.skip[k + 1] % 2;
    if (graph.q > 0) {
        graph.first = (graph.q - (blocks - 1) % graph.q) % graph.q;
        graph.end = graph.first + blocks - 1 + graph.q;
    }
    return graph;
}

/* Returns the block that v receives first. The skips that lead from the root to v, the largest one
 * first, end with the skip of that number. */
static int first_of(const struct pl_circulant *graph, int v)
{
    int k = graph->q - 1;
    for (; v != graph->skip[k]; k--)
        if (v > graph->skip[k])
            v -= graph->skip[k];
    return k;
}

/* The search of paths from the root to v, one for each round. A path is a sum of skips, the largest
 * first, and brings the block of its last skip. Positions go up to 2 p. */
struct search {
    const struct pl_circulant *graph;
    long long goal, bound;
    unsigned free; /* blocks that no round has yet, as bits */
    int round;     /* that is looked for */
    signed char *blocks;
};

/* Returns how far the path of a round may go. */
static long long limit(const struct search *search, int round)
{
    return round > search->graph->q ? -1 : search->goal - search->graph->skip[round];
}

/* Looks for paths that begin with `from` and go on with skips up to `largest`. */
static void extend(struct search *search, long long from, int largest)
{
    for (int k = largest; k >= 0; k--) {
        const long long to = from + search->graph->skip[k];
        if (!(search->free >> k & 1u) || to > limit(search, search->round) || to >= search->bound)
            continue;
        if (to <= limit(search, search->round + 1))
            extend(search, to, k);
        if (search->round == search->graph->q || from > limit(search, search->round + 1))
            return;
        search->bound = to;
        search->blocks[search->round++] = (signed char)k;
        search->free &= ~(1u << k);
    }
}

void pl_circulant_receives(const struct pl_circulant *graph, int v, signed char *blocks)
{
    const int q = graph->q, first = first_of(graph, v);
    struct search search = {
        .graph = graph,
        .goal = (long long)graph->p + v,
        .bound = 2 * (long long)graph->p,
        .free = (unsigned)((1ull << (q + 1)) - 1) & ~(1u << first),
        .blocks = blocks,
    };
    extend(&search, 0, q);
    for (int k = 0; k < q; k++)
        blocks[k] = (signed char)(blocks[k] == q ? first : blocks[k] - q);
}

int pl_circulant_lag(const struct pl_circulant *graph, const signed char *blocks, int k, int number)
{
    int lag = 1;
    for (; lag <= k; lag++)
        if (blocks[k - lag] == number)
            return lag;
    while (lag < k + graph->q && blocks[k + graph->q - lag] != number + graph->q)
        lag++;
    return lag;
}

int pl_circulant_block(const struct pl_circulant *graph, int i, int number)
{
    const int block = number - graph->first + i / graph->q * graph->q;
    return block < graph->blocks ? block : graph->blocks - 1;
}
