/* Every timer of the table that needs no MPI goes forward and is measured. */
#include "check.h"

#include "clock/clock.h"
#include "names.h"
#include "sync/sync.h"

#include <stdlib.h>
#include <time.h>

/* Against the clock that it was calibrated with: some parts in a million after a second. */
static void counter(void)
{
    const struct pl_clock *tsc = pl_named(PL_LIST_CLOCKS, "tsc"),
                          *raw = pl_named(PL_LIST_CLOCKS, "monotonic_raw");
    if (pl_clock_missing(tsc))
        return;
    struct pl_calibration calibration = pl_clock_calibrate(tsc), again = pl_clock_calibrate(tsc);
    double ratio = (double)calibration.multiplier / (double)again.multiplier;
    CHECK(ratio > 1 - 5e-6 && ratio < 1 + 5e-6);

    pl_clock_start(tsc, &calibration);
    int64_t worst = 0;
    for (int i = 0; i < 50; i++) {
        int64_t least = INT64_MAX, apart = 0;
        for (int j = 0; j < 200; j++) { /* of many pairs the one that lies closest together */
            int64_t before = tsc->now_ns(), middle = raw->now_ns(), after = tsc->now_ns();
            if (after - before < least) {
                least = after - before;
                apart = middle - (before + after) / 2;
            }
        }
        worst = llabs(apart) > worst ? llabs(apart) : worst;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    fprintf(stderr, "tsc and monotonic_raw: at most %lld ns apart\n", (long long)worst);
    CHECK(worst < 5000);

    /* Equal numbers, equal clocks; far from the origin the product still fits. */
    struct pl_calibration simple = {0, 1000,
                                    UINT64_C(1) << (PL_TICK_SHIFT - 1)}; /* 0.5 ns a tick */
    pl_clock_start(tsc, &simple);
    int64_t half = tsc->now_ns();
    simple.multiplier *= 2;
    pl_clock_start(tsc, &simple);
    double whole = (double)(tsc->now_ns() - 1000) / (double)(half - 1000);
    CHECK(whole > 2 && whole < 2.001);
}

int main(void)
{
    counter();
    CHECK_TEXT(pl_clocks[0]->name, "monotonic_raw");
    CHECK_TEXT(pl_syncs[0]->name, "barrier");
    CHECK(pl_named(PL_LIST_CLOCKS, "sundial") == NULL);
    CHECK(pl_named(PL_LIST_SYNCS, "shout") == NULL);
    for (int i = 0; i < pl_clock_count; i++) {
        const struct pl_clock *clock = pl_clocks[i];
        CHECK(pl_named(PL_LIST_CLOCKS, clock->name) == clock);
        if (strcmp(clock->name, "wtime") == 0) {
            CHECK(!clock->shared);
            continue; /* after MPI_Init only */
        }
        CHECK(clock->shared);
        if (pl_clock_missing(clock)) {
            CHECK(strstr(pl_clock_missing(clock), "use clock=monotonic_raw") != NULL);
            continue;
        }
        struct pl_calibration calibration = pl_clock_calibrate(clock);
        CHECK(pl_clock_start(clock, &calibration));
        int64_t first = clock->now_ns(), second = clock->now_ns();
        CHECK(first > 0 && second >= first);
        struct pl_clock_quality quality = pl_clock_measure(clock);
        CHECK(quality.resolution_ns > 0 && quality.resolution_ns < 1000000);
        CHECK(quality.cost_ns >= 0 && quality.cost_ns < 1000000);
    }
    return check_done();
}
