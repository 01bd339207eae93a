/* Whether times still fall: of series whose truth is known, and how often chance is taken for a
 * fall. */
#include "check.h"

#include "measure/random.h"
#include "measure/settle.h"

#include <math.h>

enum { MOST = 64, REPS = 4, BLOCKS = 12 };
static int64_t ns[MOST], room[MOST];

/* From the call `at` on 500 ns, before it 36000; 1 % noise. */
static void step(struct pl_random *random, int at, int count)
{
    for (int i = 0; i < count; i++)
        ns[i] = llround((i < at ? 36000 : 500) * (1 + 0.01 * pl_random_unit(random)));
}

static void check_steps(void)
{
    struct pl_random random = pl_random_stream(1, 0, 0);
    bool seen = false;
    for (int at = 11; at <= 13; at++) {
        step(&random, at, 20);
        seen = pl_settle_falls(ns, 20);
        CHECK(seen);
    }
    step(&random, 16, 20);
    CHECK(pl_settle_falls(ns, 20));
    step(&random, 3, 20);
    CHECK(!pl_settle_falls(ns, 20));
    step(&random, 99, 20);
    CHECK(!pl_settle_falls(ns, 20));
    step(&random, 4, 8);
    CHECK(pl_settle_falls(ns, 8));
    CHECK(!pl_settle_falls(ns, 7)); /* too few to say */
    step(&random, 2, 8);
    CHECK(!pl_settle_falls(ns, 8));
}

static void check_slopes(void)
{
    for (int i = 0; i < 20; i++)
        ns[i] = llround(1e5 * pow(0.97, i));
    CHECK(pl_settle_falls(ns, 20));
    for (int i = 0; i < 20; i++)
        ns[i] = llround(1e5 * pow(0.999, i)); /* less than a twentieth */
    CHECK(!pl_settle_falls(ns, 20));
    for (int i = 0; i < 20; i++)
        ns[i] = llround(1e5 * pow(1.03, i)); /* a rise is no fall */
    CHECK(!pl_settle_falls(ns, 20));
    for (int i = 0; i < 20; i++)
        ns[i] = i % 7 == 2 ? 900000 : llround(1e5 * pow(0.97, i)); /* some lost their core */
    CHECK(pl_settle_falls(ns, 20));
}

static double normal(struct pl_random *random) /* Box and Muller */
{
    double radius = sqrt(-2 * log(1 - pl_random_unit(random)));
    return radius * cos(2 * acos(-1) * pl_random_unit(random));
}

static void check_chance(void)
{
    enum { SERIES = 4000 };
    int falls = 0, early = 0, transits = 0;
    for (int series = 0; series < SERIES; series++) {
        struct pl_random random = pl_random_stream(7, 1, (uint64_t)series);
        for (int i = 0; i < BLOCKS * REPS; i++)
            ns[i] = llround(1e6 * exp(0.5 * normal(&random)));
        falls += pl_settle_falls(ns, 20);
        early += pl_settle_falls(ns, 8);
        transits += pl_settle_transit(ns, BLOCKS, REPS, room) > 0;
    }
    printf("# of %d series without a fall: %d falls, %d of the first group, %d transits\n", SERIES,
           falls, early, transits);
    CHECK(falls > 0 && falls < SERIES / 50);
    CHECK(early > 0 && early < SERIES / 50);
    CHECK(transits < SERIES / 400);
}

static void check_transits(void)
{
    struct pl_random random = pl_random_stream(3, 0, 0);
    for (int block = 0; block <= BLOCKS; block++) {
        step(&random, block * REPS, BLOCKS * REPS);
        int found = pl_settle_transit(ns, BLOCKS, REPS, room);
        CHECK(found == (block <= BLOCKS * 3 / 4 ? block : 0));
    }
    step(&random, 3 * REPS + 2, BLOCKS * REPS); /* inside a block */
    int found = pl_settle_transit(ns, BLOCKS, REPS, room);
    CHECK(found == 3 || found == 4);
    for (int i = 0; i < BLOCKS * REPS; i++)
        ns[i] = i < 16 ? 1050 : 1000; /* less than a tenth */
    CHECK(pl_settle_transit(ns, BLOCKS, REPS, room) == 0);
    step(&random, 4, 3 * REPS);
    CHECK(pl_settle_transit(ns, 3, REPS, room) == 0); /* too few to say */
}

int main(void)
{
    check_steps();
    check_slopes();
    check_chance();
    check_transits();
    return check_done();
}
