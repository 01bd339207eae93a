/* The slack follows the deadline starts of ReproMPI (round-time synchronisation, where it is a
 * multiple of the cost of a broadcast) and of Schuchart, Hunold and Bosilca (Synchronizing MPI
 * processes in space and time, EuroMPI 2023), where missed deadlines lengthen it. */
#include "sync/announce.h"

#include "measure/world.h"

enum { TRIALS = 11, MULTIPLE = 2 };

/* The longest slack. A rank that has lost its core misses a start however far ahead it is
 * announced; only where ranks share cores is that the rule, and time slices are waited for. */
enum { LONGEST_COSTS = 50, LONGEST_LEAST_NS = 100000, LONGEST_CROWDED_NS = 100000000 };

/* Too late is more than a microsecond, or than some steps of a coarse timer. Ranks that share a
 * core cannot start at once: there it is more than handing the core round takes, and less than the
 * milliseconds of a time slice. */
enum { LATE_NS = 1000, LATE_STEPS = 4, LATE_CROWDED_NS = 50000 };

static int64_t larger(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

/* Rank 0's time for a message down the tree and one up: more than the way down alone, and no
 * matter how well the clocks agree. */
void pl_announce_open(struct pl_announce *announce, const struct pl_start *start)
{
    int64_t ns[TRIALS] = {0};
    for (int i = 0; i < TRIALS; i++) {
        int64_t begin = start->clock->now_ns(), word = 0;
        pl_p2p_broadcast(start->world, &word, (int)sizeof word);
        pl_p2p_maximum(start->world, &word, 1);
        int64_t took = start->clock->now_ns() - begin;
        int j = i;
        for (; j > 0 && ns[j - 1] > took; j--)
            ns[j] = ns[j - 1];
        ns[j] = took;
    }
    int64_t answer_ns = ns[TRIALS / 2];
    pl_p2p_broadcast(start->world, &answer_ns, (int)sizeof answer_ns);
    announce->cost_ns = announce->slack_ns = MULTIPLE * answer_ns;
    announce->longest_ns = start->crowded
                               ? LONGEST_CROWDED_NS
                               : larger(LONGEST_COSTS * announce->cost_ns, LONGEST_LEAST_NS);
    announce->late_ns =
        start->crowded ? larger(announce->cost_ns, LATE_CROWDED_NS)
                       : larger(LATE_STEPS * pl_clock_measure(start->clock).resolution_ns, LATE_NS);
}

bool pl_announce_next(const struct pl_announce *announce, const struct pl_start *start,
                      int64_t *global_ns, int64_t *extra)
{
    int64_t words[3] = {0};
    if (start->world->rank == 0) {
        int64_t now = start->clock->now_ns();
        words[0] = now < start->budget_end_ns;
        words[1] = pl_model_apply(start->global, now) + announce->slack_ns;
        words[2] = *extra;
    }
    pl_p2p_broadcast(start->world, words, (int)sizeof words);
    *global_ns = words[1];
    *extra = words[2];
    return words[0] != 0;
}

void pl_announce_learn(struct pl_announce *announce, bool missed)
{
    if (missed)
        announce->slack_ns += announce->slack_ns / 2;
    else
        announce->slack_ns -= (announce->slack_ns - announce->cost_ns) / 16;
    if (announce->slack_ns > announce->longest_ns)
        announce->slack_ns = announce->longest_ns;
}

enum pl_arrival pl_announce_wait(const struct pl_announce *announce, const struct pl_start *start,
                                 int64_t global_ns)
{
    int64_t (*const now_ns)(void) = start->clock->now_ns;
    int64_t until = pl_model_invert(start->global, global_ns);
    if (now_ns() >= until)
        return PL_MISSED;
    pl_clock_wait(start->clock, until, start->crowded);
    return now_ns() - until > announce->late_ns ? PL_OVERSHOT : PL_IN_TIME;
}
