/* Random numbers, permutations and the order of blocks. */
#include "check.h"

#include "measure/blocks.h"
#include "measure/random.h"

#include <string.h>

enum { ITEMS = 50 };

static int is_permutation(const int *order, int count)
{
    int seen[ITEMS] = {0};
    for (int i = 0; i < count; i++)
        seen[order[i]]++;
    for (int i = 0; i < count; i++)
        if (seen[i] != 1)
            return 0;
    return 1;
}

/* Every item at every place about equally often: chi-squared over the 6 permutations of 3 items. */
static double chi_squared_of_orders(int draws)
{
    int items[3] = {0, 1, 2}, order[3], counts[27] = {0};
    for (int block = 0; block < draws; block++) {
        pl_block_order(99, block, items, 3, order);
        counts[order[0] * 9 + order[1] * 3 + order[2]]++;
    }
    double sum = 0, expected = draws / 6.0;
    for (int i = 0; i < 27; i++)
        if (counts[i] > 0)
            sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    return sum;
}

int main(void)
{
    /* Reference output of splitmix64 from its authors' code, seed 1234567. */
    struct pl_random random = {1234567};
    CHECK(pl_random_next(&random) == UINT64_C(6457827717110365317));
    CHECK(pl_random_next(&random) == UINT64_C(3203168211198807973));
    CHECK(pl_random_next(&random) == UINT64_C(9817491932198370423));

    int in_range = 1, unit_in_range = 1;
    for (int i = 0; i < 10000; i++) {
        in_range &= pl_random_below(&random, 7) < 7;
        double unit = pl_random_unit(&random);
        unit_in_range &= unit >= 0 && unit < 1;
    }
    CHECK(in_range);
    CHECK(unit_in_range);
    CHECK(pl_random_below(&random, 1) == 0);

    struct pl_random a = pl_random_stream(1, 2, 3), b = pl_random_stream(1, 2, 3);
    struct pl_random c = pl_random_stream(1, 3, 2), d = pl_random_stream(2, 2, 3);
    uint64_t first = pl_random_next(&a);
    CHECK(first == pl_random_next(&b));
    CHECK(first != pl_random_next(&c));
    CHECK(first != pl_random_next(&d));

    int items[ITEMS], order[ITEMS], again[ITEMS], other[ITEMS];
    for (int i = 0; i < ITEMS; i++)
        items[i] = i;
    pl_block_order(42, 0, items, ITEMS, order);
    pl_block_order(42, 0, items, ITEMS, again);
    pl_block_order(42, 1, items, ITEMS, other);
    CHECK(is_permutation(order, ITEMS));
    CHECK(is_permutation(other, ITEMS));
    CHECK(memcmp(order, again, sizeof order) == 0);
    CHECK(memcmp(order, other, sizeof order) != 0);
    CHECK(memcmp(order, items, sizeof order) != 0);
    pl_block_order(43, 0, items, ITEMS, again);
    CHECK(memcmp(order, again, sizeof order) != 0);
    pl_block_order(42, 0, items, 0, order); /* nothing to order */

    CHECK(chi_squared_of_orders(6000) < 20.5); /* 5 degrees of freedom, p = 0.001 */
    return check_done();
}
