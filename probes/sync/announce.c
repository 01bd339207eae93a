/* The slack follows the deadline starts of ReproMPI (round-time synchronisation, where it is a
 * multiple of the cost of a broadcast) and of Schuchart, Hunold and Bosilca (Synchronizing MPI
 * processes in space and time, EuroMPI 2023), where missed deadlines lengthen it. */
#include "sync/announce.h"

#include "measure/world.h"

enum { TRIALS = 11, MULTIPLE = 2, LONGEST_NS = 100000000 };

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
    announce->cost_ns = announce->slack_ns = MULTIPLE * ns[TRIALS / 2];
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

void pl_announce_learn(struct pl_announce *announce, bool late)
{
    if (late)
        announce->slack_ns += announce->slack_ns / 2;
    else
        announce->slack_ns -= (announce->slack_ns - announce->cost_ns) / 16;
    if (announce->slack_ns > LONGEST_NS)
        announce->slack_ns = LONGEST_NS;
}

bool pl_announce_wait(const struct pl_start *start, int64_t global_ns)
{
    int64_t (*const now_ns)(void) = start->clock->now_ns;
    int64_t until = pl_model_invert(start->global, global_ns);
    if (now_ns() >= until)
        return false;
    pl_clock_wait(start->clock, until, start->crowded);
    return true;
}
