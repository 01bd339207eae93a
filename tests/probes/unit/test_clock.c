/* Every timer of the table that needs no MPI goes forward and is measured. */
#include "check.h"

#include "clock/clock.h"
#include "sync/sync.h"

int main(void)
{
    CHECK_TEXT(pl_clocks[0]->name, "monotonic_raw");
    CHECK_TEXT(pl_syncs[0]->name, "barrier");
    CHECK(pl_clock_by_name("sundial") == NULL);
    CHECK(pl_sync_by_name("shout") == NULL);
    for (int i = 0; i < pl_clock_count; i++) {
        const struct pl_clock *clock = pl_clocks[i];
        CHECK(pl_clock_by_name(clock->name) == clock);
        if (strcmp(clock->name, "wtime") == 0)
            continue; /* after MPI_Init only */
        int64_t first = clock->now_ns(), second = clock->now_ns();
        CHECK(first > 0 && second >= first);
        struct pl_clock_quality quality = pl_clock_measure(clock);
        CHECK(quality.resolution_ns > 0 && quality.resolution_ns < 1000000);
        CHECK(quality.cost_ns >= 0 && quality.cost_ns < 1000000);
    }
    return check_done();
}
