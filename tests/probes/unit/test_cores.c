/* Which processing units threads get, on machines that are not there. */
#include "check.h"

#include "overlap/cores.h"
#include "units.h"

#include <stdlib.h>

/* Players of one host. */
static struct pl_cores cores_of(const char *allowed, const char *taken, int players, int place)
{
    struct pl_cores cores = {.players = players, .place = place};
    const struct pl_units all = units_of(allowed), bound = units_of(taken);
    CHECK(pl_cores_order(&cores, &all, &bound));
    return cores;
}

static void check_threads(const char *allowed, const char *taken, int players, int place, int count,
                          const int *wanted)
{
    struct pl_cores cores = cores_of(allowed, taken, players, place);
    for (int i = 0; i < count; i++)
        CHECK(pl_cores_of_thread(&cores, i) == wanted[i]);
    free(cores.units);
}

static int spare(const char *allowed, const char *taken, int players, int place)
{
    struct pl_cores cores = cores_of(allowed, taken, players, place);
    int unit = pl_cores_spare(&cores);
    free(cores.units);
    return unit;
}

int main(void)
{
    /* A rank alone on its host: its own unit last. */
    check_threads("0-3", "0", 1, 0, 5, (const int[]){1, 2, 3, 0, 1});
    /* Two, on two units: each has its threads beside itself. */
    check_threads("0-1", "0-1", 2, 0, 3, (const int[]){0, 0, 0});
    check_threads("0-1", "0-1", 2, 1, 3, (const int[]){1, 1, 1});
    /* Two, on eight: the free ones in turn. */
    check_threads("0-7", "0-1", 2, 0, 4, (const int[]){2, 4, 6, 0});
    check_threads("0-7", "0-1", 2, 1, 4, (const int[]){3, 5, 7, 1});
    /* Not bound, and not all of the machine. */
    check_threads("4-7", "0-7", 1, 0, 4, (const int[]){4, 5, 6, 7});
    CHECK(spare("0-1", "0-1", 2, 0) == -1);
    CHECK(spare("0-2", "0-1", 2, 0) == -1 && spare("0-2", "0-1", 2, 1) == -1);
    CHECK(spare("0-3", "0-1", 2, 0) == 2 && spare("0-3", "0-1", 2, 1) == 3);
    CHECK(spare("0-3", "0-3", 1, 0) == -1);
    CHECK(spare("0-3", "2", 1, 0) == 0);
    return check_done();
}
