#include "measure/settle.h"

#include "ascending.h"

#include <stdlib.h>
#include <string.h>

static void sort(int64_t *to, const int64_t *ns, int count)
{
    memcpy(to, ns, (size_t)count * sizeof *ns);
    qsort(to, (size_t)count, sizeof *to, pl_by_ns);
}

/* Of sorted values: all but one in eight of `after` are below all but one in eight of `before`, and
 * its median is below `percent` of the other. Of equal calls that is so in 1 of 200 pairs of
 * groups, and of a group and half of one in 1 of 100, whatever their spread; a call that lost its
 * core changes nothing. */
static bool is_below(const int64_t *after, int later, const int64_t *before, int earlier,
                     int percent)
{
    return after[later - 1 - later / 8] < before[earlier / 8] &&
           100 * after[later / 2] < percent * before[earlier / 2];
}

/* The `count` values that follow the `earlier` ones at `ns`; a group of each at most. */
static bool follow_below(const int64_t *ns, int earlier, int count)
{
    int64_t before[PL_SETTLE_GROUP], after[PL_SETTLE_GROUP];
    sort(before, ns, earlier);
    sort(after, ns + earlier, count);
    return is_below(after, count, before, earlier, 95);
}

bool pl_settle_falls(const int64_t *ns, int count)
{
    enum { GROUP = PL_SETTLE_GROUP, HALF = GROUP / 2 };
    if (count < 2 * GROUP)
        return count >= GROUP && follow_below(ns + count - GROUP, HALF, HALF);
    return follow_below(ns + count - 2 * GROUP, GROUP, GROUP) ||
           follow_below(ns + count - GROUP - HALF, GROUP, HALF);
}

/* How far sorted values lie from their median, together. */
static int64_t spread(const int64_t *ns, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += ns[i] > ns[count / 2] ? ns[i] - ns[count / 2] : ns[count / 2] - ns[i];
    return sum;
}

/* The cut that leaves the least spread on both sides is the one to be judged. */
int pl_settle_transit(const int64_t *ns, int blocks, int reps, int64_t *room)
{
    const int count = blocks * reps;
    int64_t least = INT64_MAX;
    int found = 0;

    for (int cut = 1; count >= 2 * PL_SETTLE_GROUP && cut <= blocks * 3 / 4; cut++) {
        const int earlier = cut * reps, later = count - earlier;
        int64_t *before = room, *after = room + earlier;
        sort(before, ns, earlier);
        sort(after, ns + earlier, later);
        int64_t both = spread(before, earlier) + spread(after, later);
        if (both >= least)
            continue;
        least = both;
        found = is_below(after, later, before, earlier, 90) ? cut : 0;
    }
    return found;
}
