/* What lies between two ranks. */
#include "check.h"

#include "measure/pingpong.h"
#include "system/seat.h"

static enum pl_pair pair(struct pl_seat a, struct pl_seat b)
{
    CHECK(pl_pair_of(&a, &b) == pl_pair_of(&b, &a));
    return pl_pair_of(&a, &b);
}

static void check_pairs(void)
{
    struct pl_seat core = {"a", 0, 1, -1, 7}, sister = {"a", 0, 2, -1, 7};
    struct pl_seat socket = {"a", 0, -1, -1, -1}, far = {"a", 1, 5, -1, 8};
    struct pl_seat free = {"a", -1, -1, -1, -1}, away = {"b", 0, 1, -1, 7};
    struct pl_seat near = {"a", 0, 1, 3, 7}, chiplet = {"a", 0, 2, 3, 7};
    struct pl_seat next = {"a", 0, 3, 4, 7}, other = {"a", 0, 4, 5, 9};
    CHECK(pair(core, core) == PL_PAIR_SAME_CORE);
    CHECK(pair(core, sister) == PL_PAIR_SAME_SOCKET);
    CHECK(pair(core, socket) == PL_PAIR_SAME_SOCKET);
    CHECK(pair(socket, socket) == PL_PAIR_SAME_SOCKET);
    CHECK(pair(near, near) == PL_PAIR_SAME_CORE && pair(near, chiplet) == PL_PAIR_SAME_CACHE);
    CHECK(pair(near, next) == PL_PAIR_SAME_SOCKET && pair(near, other) == PL_PAIR_OTHER_NUMA);
    CHECK(pair(other, socket) == PL_PAIR_SAME_SOCKET);
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
        seats[i] = (struct pl_seat){{(char)('a' + i / 4)}, 0, i % 2, -1, -1};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        pl_pingpong_choose(seats, 8, seed, chosen);
        for (int i = 0; i < PL_PAIR_CLASSES; i++)
            if (i == PL_PAIR_OTHER_SOCKET || i == PL_PAIR_SAME_CACHE || i == PL_PAIR_OTHER_NUMA)
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
    check_pairs();
    check_choice();
    return check_done();
}
