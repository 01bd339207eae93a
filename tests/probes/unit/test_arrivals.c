/* Who comes how late: the same on all ranks, from the seed, and as its pattern says. */
#include "check.h"

#include "use/arrivals.h"

#include <stdlib.h>

enum { RANKS = 5, TURNS = 10000, APART = 1000 };

static int64_t all[RANKS];

static void draw(const struct pl_arrivals *arrivals, uint64_t seed, uint64_t turn)
{
    for (int rank = 0; rank < RANKS; rank++)
        all[rank] = pl_arrivals_offset(arrivals, APART, seed, turn, rank, RANKS);
}

static void check_one(void)
{
    const struct pl_arrivals one = {.kind = PL_ARRIVALS_ONE};
    int times[RANKS] = {0}, wrong = 0, other_seed = 0;
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        int late = -1, count = 0;
        draw(&one, 7, turn);
        for (int rank = 0; rank < RANKS; rank++) {
            wrong += all[rank] != 0 && all[rank] != APART;
            if (all[rank] > 0) {
                late = rank;
                count++;
            }
        }
        wrong += count != 1;
        times[late < 0 ? 0 : late]++;
        draw(&one, 8, turn);
        other_seed += all[late < 0 ? 0 : late] == 0;
    }
    CHECK(wrong == 0);
    CHECK(other_seed > TURNS / 2);
    for (int rank = 0; rank < RANKS; rank++)
        CHECK(abs(times[rank] - TURNS / RANKS) < 250); /* six standard deviations */
}

static void check_uniform(void)
{
    const struct pl_arrivals uniform = {.kind = PL_ARRIVALS_UNIFORM};
    double sums[RANKS] = {0}, products = 0, middle = APART / 2.0;
    int outside = 0;
    bool least = false, most = false;
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        draw(&uniform, 7, turn);
        for (int rank = 0; rank < RANKS; rank++) {
            outside += all[rank] < 0 || all[rank] > APART;
            least |= all[rank] == 0;
            most |= all[rank] == APART;
            sums[rank] += (double)all[rank];
        }
        products += ((double)all[0] - middle) * ((double)all[1] - middle);
    }
    CHECK(outside == 0 && least && most);
    for (int rank = 0; rank < RANKS; rank++) {
        double mean = sums[rank] / TURNS;
        CHECK(mean > middle - 18 && mean < middle + 18); /* six standard errors of 2.9 */
    }
    /* Ranks draw for themselves: no correlation, within six standard errors. */
    CHECK(products / TURNS < 5000 && products / TURNS > -5000);
}

static void check_list(void)
{
    int64_t numbers[RANKS] = {5, 0, 70, 1, 1000};
    const struct pl_arrivals list = {.kind = PL_ARRIVALS_LIST, .list = numbers, .count = RANKS};
    draw(&list, 7, 0);
    for (int rank = 0; rank < RANKS; rank++)
        CHECK(all[rank] == numbers[rank]);
}

int main(void)
{
    check_one();
    check_uniform();
    check_list();
    return check_done();
}
