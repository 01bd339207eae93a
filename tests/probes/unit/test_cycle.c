/* Cycles in times that are known, seen by two ranks on one board. */
#include "check.h"

#include "measure/cycle.h"

#include <stdlib.h>

enum { MOST = 12 };
static int64_t board[MOST];
static struct pl_cycle cycle = {.most = MOST, .mine = true, .board = board};

/* After how many repetitions of these times, the last of which go on for ever, and with what length
 * the cycle is found. */
static int found_after(const int64_t *ns, int count, int tail, int *length)
{
    pl_cycle_begin(&cycle);
    for (int i = 0; i < MOST; i++) {
        pl_cycle_add(&cycle, i, i < count ? ns[i] : ns[count - tail + (i - count) % tail]);
        pl_cycle_add(&cycle, i, i % 3); /* a rank that is through at once */
        *length = pl_cycle_found(&cycle, i + 1);
        if (*length)
            return i + 1;
    }
    return 0;
}

int main(void)
{
    int length;
    CHECK(found_after((int64_t[]){122800}, 1, 1, &length) == 2 && length == 1);
    /* Allgather of 700 B on a fat tree: 24 x 2. */
    CHECK(found_after((int64_t[]){129600, 122800}, 2, 1, &length) == 3 && length == 1);
    CHECK(found_after((int64_t[]){170594, 163973, 164024, 164029}, 4, 1, &length) == 3);
    CHECK(length == 1); /* a thousandth apart is not apart */
    CHECK(found_after((int64_t[]){500, 700, 600}, 3, 2, &length) == 5 && length == 2);
    CHECK(found_after((int64_t[]){500, 700, 600, 650}, 4, 3, &length) == 7 && length == 3);
    CHECK(found_after((int64_t[]){10, 12, 9, 11}, 4, 1, &length) == 2); /* whole nanoseconds */
    int64_t never[MOST];
    for (int i = 0; i < MOST; i++)
        never[i] = 1000 + 100 * i;
    CHECK(found_after(never, MOST, 1, &length) == 0 && length == 0);
    return check_done();
}
