/* Teams of ranks and their trees. */
#include "teams.h"
#include "incoming.h"
#include "shared.h"
#include "trees.h"

enum { TAG_BCAST = 51, TAG_REPORT = 52, TAG_REDUCE = 53 };

int pl_team_rank(const struct pl_team *team, int place)
{
    const struct pl_nodes *nodes = team->nodes;
    if (team->node >= 0)
        return nodes->members[nodes->first[team->node] + place];
    return place == nodes->node_of[team->root] ? team->root : nodes->members[nodes->first[place]];
}

int pl_two_levels(const struct pl_call *call, int root, int radix, struct pl_two_levels *levels)
{
    int rc, p, rank;
    const struct pl_nodes *nodes;
    struct pl_shared *shared;
    struct pl_team team = {.comm = call->comm, .root = root, .radix = radix, .mine = -1};
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &team.peers));
    PL_TRY(pl_nodes(call->comm, &nodes));
    PL_TRY(pl_shared_of_node(call, &shared));
    team.nodes = nodes;
    const int node = nodes->node_of[rank], first = nodes->first[node];
    levels->top = nodes->node_of[root];
    levels->leader = 0;
    levels->node = levels->leaders = team;
    levels->node.node = node;
    levels->node.size = nodes->first[node + 1] - first;
    for (int place = 0; place < levels->node.size; place++) {
        if (nodes->members[first + place] == rank)
            levels->node.mine = place;
        if (nodes->members[first + place] == root)
            levels->leader = place;
    }
    if (levels->node.size > 1)
        levels->node.shared = shared;
    levels->leaders.node = -1;
    levels->leaders.size = nodes->count;
    if (levels->node.mine == levels->leader)
        levels->leaders.mine = node;
out:
    return rc;
}

/* The tree of the team as ranks see it. */
static struct pl_tree tree_of(const struct pl_team *team, int root)
{
    return pl_knomial(pl_from_root(team->mine, root, team->size), team->size, team->radix);
}

static int rank_of(const struct pl_team *team, int root, int v)
{
    return pl_team_rank(team, pl_to_rank(v, root, team->size));
}

/* A message with the rank of a place in the tree. */
static int send(const struct pl_team *team, int root, int v, int tag, const void *buf, int count,
                MPI_Datatype type)
{
    return pl_raise(team->comm,
                    PL_MPI(Send)(buf, count, type, rank_of(team, root, v), tag, team->peers));
}

static int receive(const struct pl_team *team, int root, int v, int tag, void *buf, int count,
                   MPI_Datatype type)
{
    return pl_raise(team->comm, PL_MPI(Recv)(buf, count, type, rank_of(team, root, v), tag,
                                             team->peers, MPI_STATUS_IGNORE));
}

static void share(struct pl_shared *shared, int root, char *bytes, size_t count)
{
    for (size_t at = 0; at < count; at += PL_STEP_BYTES) {
        const size_t width = count - at < PL_STEP_BYTES ? count - at : PL_STEP_BYTES;
        const struct pl_shared_step step = pl_step_begin(shared, width);
        if (shared->rank == root)
            pl_step_write(shared, &step, bytes + at, width);
        else
            memcpy(bytes + at, pl_step_of(shared, &step, root), width);
        pl_step_end(shared, &step);
    }
}

/* Nothing is passed on, but that the root has come here. */
static void release(struct pl_shared *shared, int root)
{
    const struct pl_shared_step step = pl_step_begin(shared, 0);
    if (shared->rank == root)
        pl_step_write(shared, &step, NULL, 0);
    else
        pl_step_of(shared, &step, root);
    pl_step_end(shared, &step);
}

int pl_team_bcast(const struct pl_team *team, int root, void *buf, int count, MPI_Datatype type)
{
    int rc = MPI_SUCCESS;
    if (team->mine < 0)
        return rc;
    if (team->shared && pl_dense(type)) {
        if (count == 0)
            release(team->shared, root);
        else
            share(team->shared, root, buf, (size_t)count * (size_t)pl_size_of(type));
        return rc;
    }
    const struct pl_tree tree = tree_of(team, root);
    if (tree.parent >= 0)
        PL_TRY(receive(team, root, tree.parent, TAG_BCAST, buf, count, type));
    for (int i = tree.children - 1; i >= 0; i--)
        PL_TRY(send(team, root, pl_child(&tree, i), TAG_BCAST, buf, count, type));
out:
    return rc;
}

static void report(struct pl_shared *shared, int root)
{
    const struct pl_shared_step step = pl_step_begin(shared, 0);
    if (shared->rank != root)
        pl_step_write(shared, &step, NULL, 0);
    for (int place = 0; shared->rank == root && place < shared->p; place++)
        if (place != root)
            pl_step_of(shared, &step, place);
    pl_step_end(shared, &step);
}

int pl_team_report(const struct pl_team *team, int root)
{
    int rc = MPI_SUCCESS;
    if (team->mine < 0)
        return rc;
    if (team->shared) {
        report(team->shared, root);
        return rc;
    }
    const struct pl_tree tree = tree_of(team, root);
    for (int i = 0; i < tree.children; i++)
        PL_TRY(receive(team, root, pl_child(&tree, i), TAG_REPORT, NULL, 0, MPI_BYTE));
    if (tree.parent >= 0)
        PL_TRY(send(team, root, tree.parent, TAG_REPORT, NULL, 0, MPI_BYTE));
out:
    return rc;
}

/* True on all ranks or none. An operation of the user gets the elements that the program passed. */
static bool may_share(const struct pl_team *team, const struct pl_call *call)
{
    const int size = pl_dense(call->recvtype) ? pl_size_of(call->recvtype) : 0;
    return team->shared && size > 0 &&
           (pl_own_op(call->op) != PL_OWN_OPS ||
            (long long)call->recvcount * size <= PL_STEP_BYTES);
}

/* The operands of all others to those of the root, `value`, which end in `room`. */
static int reduce_shared(struct pl_shared *shared, int root, const struct pl_call *call,
                         const void *value, void *room)
{
    int rc = MPI_SUCCESS;
    const int count = call->recvcount, size = pl_size_of(call->recvtype);
    const int piece = PL_STEP_BYTES / size;
    for (int at = 0; at < count; at += piece) {
        const int elements = count - at < piece ? count - at : piece;
        const size_t bytes = (size_t)elements * (size_t)size, skipped = (size_t)at * (size_t)size;
        const char *own = (const char *)value + skipped;
        char *to = (char *)room + skipped;
        const struct pl_shared_step step = pl_step_begin(shared, bytes);
        if (shared->rank != root)
            pl_step_write(shared, &step, own, bytes);
        else if (to != own)
            memcpy(to, own, bytes);
        for (int place = 0; shared->rank == root && place < shared->p; place++)
            if (place != root)
                PL_TRY(
                    pl_raise(call->comm, PL_MPI(Reduce_local)(pl_step_of(shared, &step, place), to,
                                                              elements, call->recvtype, call->op)));
        pl_step_end(shared, &step);
    }
out:
    return rc;
}

struct children {
    const struct pl_team *team;
    struct pl_tree tree;
    int root, own_at;
};

static int child(const void *where, int i)
{
    const struct children *children = where;
    const int number = i - (i > children->own_at);
    return rank_of(children->team, children->root, pl_child(&children->tree, number));
}

/* The first message goes to the room, unless the own operand is there. */
static int add_children(struct children *children, const struct pl_call *call, const void **value,
                        bool has_room, void *room)
{
    int rc = MPI_SUCCESS;
    const struct pl_team *team = children->team;
    const int count = children->tree.children + 1;
    if (!has_room)
        room = pl_scratch_elements(team->comm, PL_SLOT_WORK, call->recvcount, call->recvtype);
    if (!has_room && !room)
        return pl_raise(team->comm, MPI_ERR_NO_MEM);
    children->own_at = *value != room;
    const struct pl_incoming incoming = {.call = call,
                                         .peers = team->peers,
                                         .tag = TAG_REDUCE,
                                         .count = count,
                                         .own_at = children->own_at,
                                         .own = *value,
                                         .sum = room,
                                         .window = pl_incoming_window(call, count),
                                         .sender = child,
                                         .where = children};
    PL_TRY(pl_add_incoming(&incoming));
    *value = room;
out:
    return rc;
}

int pl_team_reduce(const struct pl_team *team, int root, const struct pl_call *call,
                   const void **value, bool has_room, void *room)
{
    int rc = MPI_SUCCESS;
    if (team->mine < 0)
        return rc;
    const int count = call->recvcount;
    const MPI_Datatype type = call->recvtype;
    if (may_share(team, call)) {
        if (team->mine == root && !has_room)
            room = pl_scratch_elements(team->comm, PL_SLOT_WORK, count, type);
        if (team->mine == root && count > 0 && !has_room && !room)
            return pl_raise(team->comm, MPI_ERR_NO_MEM);
        PL_TRY(reduce_shared(team->shared, root, call, *value, room));
        if (team->mine == root)
            *value = room;
        return rc;
    }
    struct children children = {team, tree_of(team, root), root, 0};
    if (children.tree.children > 0)
        PL_TRY(add_children(&children, call, value, has_room, room));
    if (children.tree.parent >= 0)
        PL_TRY(send(team, root, children.tree.parent, TAG_REDUCE, *value, count, type));
out:
    return rc;
}
