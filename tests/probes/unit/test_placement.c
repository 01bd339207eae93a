/* Which ranks share a host. With 65536 of them on as many hosts, every comparison of two ranks
 * would take a minute. */
#include "check.h"

#include "system/placement.h"

#include <stdlib.h>

enum { RANKS = 65536 };

/* Host of a rank: blocks of `ppn` ranks, or in turn; numbers fall where `down`. */
static void check(int size, int hosts, bool in_turn, bool down)
{
    struct pl_placement placement = {.ranks = calloc((size_t)size, sizeof *placement.ranks)};
    const int ppn = (size + hosts - 1) / hosts;
    int right = placement.ranks != NULL;
    for (int rank = 0; right && rank < size; rank++) {
        const int host = in_turn ? rank % hosts : rank / ppn;
        snprintf(placement.ranks[rank].host, sizeof placement.ranks->host, "node%d",
                 down ? hosts - host : host);
        snprintf(placement.ranks[rank].binding, sizeof placement.ranks->binding, "%d", rank);
    }
    right = right && pl_placement_count(&placement, size);
    for (int rank = 0; right && rank < size; rank++)
        right = placement.first[rank] == (in_turn ? rank % hosts : rank / ppn * ppn);
    CHECK(right && placement.nodes == hosts && placement.ppn == ppn);
    pl_placement_free(&placement);
}

int main(void)
{
    for (int turn = 0; turn < 4; turn++) {
        check(1, 1, turn % 2, turn / 2);
        check(8, 2, turn % 2, turn / 2);
        check(RANKS, 1, turn % 2, turn / 2);
        check(RANKS, 512, turn % 2, turn / 2);
        check(RANKS, RANKS, turn % 2, turn / 2);
    }
    return check_done();
}
