/* Schedules on circulant graphs, played round by round: for every p up to 260 and some larger
 * ones, and 1 to 11 blocks. TAP; starts no MPI. */
#include "circulant.h"
#include "../check.h"

#include <stdbool.h>
#include <stdlib.h>

enum { BLOCKS = 11 };

/* What the ranks have before a round, and after it. */
struct ranks {
    int p, q;
    signed char *numbers; /* what v receives: q of them for each v */
    bool *before, *after; /* by rank and block */
};

static struct ranks ranks_of(int p)
{
    const struct pl_circulant graph = pl_circulant_of(p, 1);
    const size_t places = (size_t)p * BLOCKS;
    struct ranks ranks = {p, graph.q, malloc((size_t)p * (size_t)graph.q + 1),
                          malloc(places * sizeof(bool)), malloc(places * sizeof(bool))};
    if (!ranks.numbers || !ranks.before || !ranks.after)
        abort();
    for (int v = 1; v < p; v++)
        pl_circulant_receives(&graph, v, ranks.numbers + v * graph.q);
    return ranks;
}

/* The block that v sends in round i, if any, came as many rounds ago as the lag says. */
static bool is_lag(const struct ranks *ranks, const struct pl_circulant *graph, int i, int v,
                   int number)
{
    const int q = ranks->q, k = i % q;
    const signed char *mine = ranks->numbers + v * q;
    const int lag = pl_circulant_lag(graph, mine, k, number), then = i - lag;
    return lag >= 1 && then >= graph->first &&
           pl_circulant_block(graph, then, mine[then % q]) == pl_circulant_block(graph, i, number);
}

/* Nobody sends what it has not, or receives what it has; in the end all have everything. */
static bool delivers(const struct ranks *ranks, int blocks)
{
    const int p = ranks->p, q = ranks->q;
    const struct pl_circulant graph = pl_circulant_of(p, blocks);
    bool good = graph.end - graph.first == (p > 1 ? blocks - 1 + q : 0);
    for (int i = 0; i < p * BLOCKS; i++)
        ranks->before[i] = i < BLOCKS;
    for (int i = graph.first; i < graph.end; i++) {
        memcpy(ranks->after, ranks->before, (size_t)p * BLOCKS * sizeof(bool));
        for (int v = 1; v < p; v++) {
            const int from = (v - graph.skip[i % q] + p) % p,
                      number = ranks->numbers[v * q + i % q];
            const int block = pl_circulant_block(&graph, i, number);
            if (block < 0)
                continue;
            good = good && block < blocks && ranks->before[from * BLOCKS + block];
            good = good && !ranks->after[v * BLOCKS + block];
            good = good && (from == 0 || is_lag(ranks, &graph, i, from, number));
            ranks->after[v * BLOCKS + block] = true;
        }
        memcpy(ranks->before, ranks->after, (size_t)p * BLOCKS * sizeof(bool));
    }
    for (int v = 0; v < p; v++)
        for (int block = 0; block < blocks; block++)
            good = good && ranks->before[v * BLOCKS + block];
    return good;
}

/* The q blocks of q rounds are all different, for some of the ranks of a graph of any size. */
static bool are_different(int p)
{
    const struct pl_circulant graph = pl_circulant_of(p, 1);
    signed char numbers[PL_ROUNDS_MOST];
    bool good = true;
    for (long long v = 1; v < p; v += p / 97 + 1) {
        unsigned seen = 0;
        pl_circulant_receives(&graph, (int)v, numbers);
        for (int k = 0; k < graph.q; k++)
            seen |= 1u << (numbers[k] + graph.q) % graph.q;
        good = good && seen == (1u << graph.q) - 1;
    }
    return good;
}

int main(void)
{
    static const int larger[] = {511, 512, 513, 777, 1000, 1023, 1025};
    enum { SMALL = 260, LARGER = sizeof larger / sizeof *larger };
    bool delivered = true, different = are_different(2147483647);
    for (int i = 1; i <= SMALL + LARGER; i++) {
        struct ranks ranks = ranks_of(i <= SMALL ? i : larger[i - SMALL - 1]);
        for (int blocks = 1; blocks <= BLOCKS; blocks++)
            delivered = delivered && delivers(&ranks, blocks);
        free(ranks.numbers);
        free(ranks.before);
        free(ranks.after);
    }
    for (int p = 1 << 20; p < 1 << 29; p = p / 2 * 3 + 7)
        different = different && are_different(p);
    CHECK(delivered);
    CHECK(different);
    return check_done();
}
