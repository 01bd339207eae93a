/* Barrier on two levels: reports go to the first rank of each node on a k-nomial tree, these meet
 * by dissemination, and release goes down the tree.
 *
 * Source: Karonis, de Supinski, Foster, Gropp, Lusk, Bresnahan, IPDPS 2000 (several levels);
 * Hensgen, Finkel, Manber, International Journal of Parallel Programming 17(1), 1988
 * (dissemination).
 * Cost on N nodes of m ranks: ceil(log2 N) a between nodes, 2 (radix-1) ceil(log_radix m) a inside.
 * Restrictions: none.
 * Messages: empty ones, one up and one down for every rank that is not first on its node, and
 * ceil(log2 N) from the others, on the private communicator. */
#include "parameters.h"
#include "teams.h"

enum { TAG = PL_OWN_TAG };

static int disseminate(const struct pl_call *call, const struct pl_team *team)
{
    int rc = MPI_SUCCESS;
    if (team->mine < 0)
        return rc;
    for (long long distance = 1; distance < team->size; distance *= 2) {
        const int to = (int)((team->mine + distance) % team->size);
        const int from = (int)((team->mine + team->size - distance) % team->size);
        PL_TRY(pl_peer_sendrecv(call, NULL, 0, MPI_BYTE, pl_team_rank(team, to), TAG, NULL, 0,
                                MPI_BYTE, pl_team_rank(team, from), TAG, team->peers));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc;
    struct pl_two_levels levels;
    PL_TRY(pl_two_levels(call, 0, call->values[0], &levels));
    PL_TRY(pl_team_report(&levels.node, levels.leader));
    PL_TRY(disseminate(call, &levels.leaders));
    PL_TRY(pl_team_bcast(&levels.node, levels.leader, NULL, 0, MPI_BYTE));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, barrier, barrier_hierarchical, run,
            "trees inside nodes, dissemination between them (Karonis et al. 2000)",
            .parameters = {PL_LEVELS_RADIX});
