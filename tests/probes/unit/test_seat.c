/* Where ranks sit, and what lies between two of them. */
#include "check.h"

#include "measure/pingpong.h"
#include "system/seat.h"

static struct pl_seat seat_of(const char *synthetic, const char *units)
{
    struct pl_seat seat = {.host = "a"};
    hwloc_topology_t topology;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_bitmap_list_sscanf(set, units);
    if (hwloc_topology_init(&topology) == 0 &&
        hwloc_topology_set_synthetic(topology, synthetic) == 0 &&
        hwloc_topology_load(topology) == 0)
        pl_seat_of_set(&seat, topology, set);
    hwloc_topology_destroy(topology);
    hwloc_bitmap_free(set);
    return seat;
}

static int is(struct pl_seat seat, int package, int core)
{
    return seat.package == package && seat.core == core;
}

static enum pl_pair pair(struct pl_seat a, struct pl_seat b)
{
    CHECK(pl_pair_of(&a, &b) == pl_pair_of(&b, &a));
    return pl_pair_of(&a, &b);
}

static void check_seats(void)
{
    const char *two = "package:2 l2:2 core:1 pu:2"; /* units 0-1 core 0, …, 6-7 core 3 */
    CHECK(is(seat_of(two, "0"), 0, 0));
    CHECK(is(seat_of(two, "0-1"), 0, 0));
    CHECK(is(seat_of(two, "0-3"), 0, -1));
    CHECK(is(seat_of(two, "6"), 1, 3));
    CHECK(is(seat_of(two, "0-7"), -1, -1));
    CHECK(is(seat_of(two, "3-4"), -1, -1));
    CHECK(is(seat_of("package:1 core:4 pu:1", "0-3"), 0, -1));
}

static void check_pairs(void)
{
    struct pl_seat core = {"a", 0, 1}, sister = {"a", 0, 2}, socket = {"a", 0, -1};
    struct pl_seat far = {"a", 1, 5}, free = {"a", -1, -1}, away = {"b", 0, 1};
    CHECK(pair(core, core) == PL_PAIR_SAME_CORE);
    CHECK(pair(core, sister) == PL_PAIR_SAME_SOCKET);
    CHECK(pair(core, socket) == PL_PAIR_SAME_SOCKET);
    CHECK(pair(socket, socket) == PL_PAIR_SAME_SOCKET);
    CHECK(pair(core, far) == PL_PAIR_OTHER_SOCKET);
    CHECK(pair(core, free) == PL_PAIR_UNKNOWN && pair(free, free) == PL_PAIR_UNKNOWN);
    CHECK(pair(core, away) == PL_PAIR_OTHER_NODE && pair(free, away) == PL_PAIR_OTHER_NODE);
    CHECK_TEXT(pl_pair_name(PL_PAIR_OTHER_SOCKET), "other_socket");
}

static void check_choice(void)
{
    /* Two nodes of two cores, two ranks a core. */
    struct pl_seat seats[8];
    int chosen[PL_PAIR_CLASSES][2], often[8] = {0}, fitting = 1;
    for (int i = 0; i < 8; i++)
        seats[i] = (struct pl_seat){{(char)('a' + i / 4)}, 0, i % 2};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        pl_pingpong_choose(seats, 8, seed, chosen);
        for (int i = 0; i < PL_PAIR_CLASSES; i++)
            if (i == PL_PAIR_OTHER_SOCKET)
                fitting &= chosen[i][0] == -1 && chosen[i][1] == -1;
            else
                fitting &=
                    chosen[i][0] < chosen[i][1] &&
                    pl_pair_of(&seats[chosen[i][0]], &seats[chosen[i][1]]) == (enum pl_pair)i;
        often[chosen[PL_PAIR_SAME_CORE][0]]++; /* ranks 0, 1, 4 and 5, each in one such pair */
    }
    CHECK(fitting);
    for (int i = 0; i < 8; i++) /* 1000 each, sd 27 */
        CHECK(i % 4 < 2 ? often[i] > 860 && often[i] < 1140 : often[i] == 0);
    pl_pingpong_choose(seats, 1, 1, chosen);
    CHECK(chosen[PL_PAIR_SAME_CORE][0] == -1 && chosen[PL_PAIR_OTHER_NODE][1] == -1);
}

int main(void)
{
    check_seats();
    check_pairs();
    check_choice();
    return check_done();
}
