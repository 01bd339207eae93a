/* Calls that follow each other without anything between them: a barrier, warm-up calls, then one
 * timer around the rest, as Intel MPI Benchmarks did before 2019 and mpptest does. A rank that is
 * through goes on to the next call, so that calls overlap; where a root sends and does not wait, it
 * runs ahead. A sample is the largest of the ranks' times, divided by the number of calls. */
#include "measure/delay.h"
#include "use/use.h"

int64_t pl_stream_run(const struct pl_clock *clock, const struct pl_case *c,
                      const struct pl_call *call, int64_t wait, int count, int64_t *failures)
{
    int (*const run)(const struct pl_call *) = c->run;
    int failed = 0;
    int64_t begin = clock->now_ns();
    for (int i = 0; i < count; i++) {
        failed += run(call) != MPI_SUCCESS;
        pl_delay_wait(wait);
    }
    int64_t end = clock->now_ns();
    *failures += failed;
    return end - begin;
}

const struct pl_use pl_use_stream = {
    .name = "stream",
    .summary = "calls back to back, one timer around all; the largest time, by call",
    .scheme = &pl_sync_barrier,
    .span = PL_SPAN_LONGEST,
    .stream = true,
};
