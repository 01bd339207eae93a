#include "sync/round.h"

#include "measure/world.h"

bool pl_round_start(struct pl_round *round, struct pl_start *start, int64_t offset_ns)
{
    int64_t global_ns, none = 0;
    if (!pl_announce_next(&round->announce, start, &global_ns, &none))
        return false;
    round->arrival = pl_announce_wait(&round->announce, start, global_ns + offset_ns);
    return true;
}

enum pl_validity pl_round_finish(struct pl_round *round, struct pl_start *start)
{
    int64_t worst = pl_p2p_agree(start->world, round->arrival);
    pl_announce_learn(&round->announce, worst == PL_MISSED);
    return worst == PL_IN_TIME ? PL_VALID : PL_LATE;
}
