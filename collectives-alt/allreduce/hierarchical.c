/* Allreduce on two levels: inside each node to its first rank on a k-nomial tree, among these by
 * recursive doubling, then back the same tree.
 *
 * Source: Karonis, de Supinski, Foster, Gropp, Lusk, Bresnahan, IPDPS 2000 (several levels);
 * Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.5 (recursive doubling).
 * Cost on N nodes of m ranks: log2 N (a + n b + n g) between nodes (N not a power of two: two
 * messages more), (radix-1) ceil(log_radix m) (2 a + 2 n b + n g) inside.
 * Restrictions: the operation must be commutative: nodes may have any ranks.
 * Messages: one up and one down for every rank that is not first on its node, and those of
 * recursive doubling, on the private communicator.
 * Scratch: messages of up to 64 KiB, or one, that are open; one vector to copy a derived type.
 *
 * Leaders must have equal results to the last bit. So the operand of the lower place is always the
 * left one. */
#include "incoming.h"
#include "parameters.h"
#include "teams.h"

enum { TAG_FOLD = PL_OWN_TAG, TAG_ROUND };

/* Both operands of a step; `value` is this leader's. The result becomes value. */
struct operands {
    void *value, *other;
};

static int combine(const struct pl_call *call, struct operands *operands, bool other_is_lower)
{
    void *const left = other_is_lower ? operands->other : operands->value;
    void *const right = other_is_lower ? operands->value : operands->other;
    operands->value = right;
    operands->other = left;
    return pl_raise(call->comm,
                    PL_MPI(Reduce_local)(left, right, call->recvcount, call->recvtype, call->op));
}

/* Recursive doubling among q places, a power of two; place q + i hands its operand to place i, and
 * gets the result from it. */
static int among_leaders(const struct pl_call *call, const struct pl_team *team,
                         struct operands *operands)
{
    int rc = MPI_SUCCESS, q = 1;
    const int count = call->recvcount, mine = team->mine;
    const MPI_Datatype type = call->recvtype;
    while (q <= team->size / 2)
        q *= 2;
    const int folded = mine < q ? mine + q : mine - q;
    const int partner = folded < team->size ? pl_team_rank(team, folded) : MPI_PROC_NULL;
    if (mine >= q) {
        PL_TRY(pl_peer_send(call, operands->value, count, type, partner, TAG_FOLD, team->peers));
        return pl_peer_recv(call, operands->value, count, type, partner, TAG_FOLD, team->peers);
    }
    if (folded < team->size) {
        PL_TRY(pl_peer_recv(call, operands->other, count, type, partner, TAG_FOLD, team->peers));
        PL_TRY(combine(call, operands, false));
    }
    for (int m = 1; m < q; m *= 2) {
        const int peer = pl_team_rank(team, mine ^ m);
        PL_TRY(pl_peer_sendrecv(call, operands->value, count, type, peer, TAG_ROUND,
                                operands->other, count, type, peer, TAG_ROUND, team->peers));
        PL_TRY(combine(call, operands, (mine & m) != 0));
    }
    if (folded < team->size)
        PL_TRY(pl_peer_send(call, operands->value, count, type, partner, TAG_FOLD, team->peers));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc;
    struct pl_two_levels levels;
    const void *value = pl_operand(call);
    const int count = call->recvcount;
    const MPI_Datatype type = call->recvtype;
    PL_TRY(pl_two_levels(call, 0, call->values[0], &levels));
    PL_TRY(pl_team_reduce(&levels.node, levels.leader, call, &value, true, call->recvbuf));
    if (levels.leaders.mine >= 0) {
        if (value != call->recvbuf)
            PL_TRY(pl_copy(value, call->recvbuf, count, type, call->comm));
        struct operands operands = {call->recvbuf,
                                    pl_scratch_elements(call->comm, PL_SLOT_RECV, count, type)};
        PL_NEED(call, operands.other);
        PL_TRY(among_leaders(call, &levels.leaders, &operands));
        if (operands.value != call->recvbuf)
            PL_TRY(pl_copy(operands.value, call->recvbuf, count, type, call->comm));
    }
    PL_TRY(pl_team_bcast(&levels.node, levels.leader, call->recvbuf, count, type));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_hierarchical, run,
            "trees inside nodes, recursive doubling between them (Karonis et al. 2000)",
            .restrictions = PL_COMMUTATIVE, .scratch_volumes = 2, .scratch_bytes = PL_INCOMING_MOST,
            .parameters = {PL_LEVELS_RADIX});
