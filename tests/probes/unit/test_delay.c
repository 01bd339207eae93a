/* A planted wait lasts as long as it says. What is compared is the fastest of many waits, as
 * whoever else runs here makes single ones longer; the bounds leave room for a core that changes
 * its frequency. */
#include "check.h"

#include "measure/delay.h"
#include "names.h"

#include <stdlib.h>

static int64_t fastest(const struct pl_clock *clock, int64_t rounds)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 2000; i++) {
        int64_t start = clock->now_ns();
        pl_delay_wait(rounds);
        int64_t ns = clock->now_ns() - start;
        if (ns < least)
            least = ns;
    }
    return least;
}

int main(void)
{
    const struct pl_clock *clock = pl_named(PL_LIST_CLOCKS, "monotonic_raw");
    struct pl_delay delay = pl_delay_calibrate(clock);
    CHECK(delay.rounds_per_ns > 0.01 && delay.rounds_per_ns < 100);
    CHECK(pl_delay_rounds(&delay, 0) == 0);
    CHECK(pl_delay_rounds(&delay, -5) == 0);
    CHECK(pl_delay_rounds(&delay, 1000000000) > 1000000);

    int64_t nothing = fastest(clock, 0);
    const int64_t wanted[] = {30, 100, 1000, 20000};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int64_t got = fastest(clock, pl_delay_rounds(&delay, wanted[i])) - nothing;
        int right = CHECK(got > wanted[i] - wanted[i] / 3 - 10);
        right &= CHECK(got < wanted[i] + wanted[i] / 3 + 10);
        if (!right)
            printf("# wanted %lld ns, got %lld ns\n", (long long)wanted[i], (long long)got);
    }
    return check_done();
}
