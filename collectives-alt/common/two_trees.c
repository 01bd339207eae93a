/* Reduce and Allreduce on two binary trees, each with a half of the vector in segments. */
#include "reductions.h"
#include "trees.h"

enum { TAG_UP = 30, TAG_DOWN = 32 };

/* Ranks are counted from the root. The others, 1 .. m, stand in the order of a binary search tree,
 * in which odd ones are leaves; its top sends to the root. */
static int parent_of(int u, int m)
{
    const int bit = u & -u, up = (u ^ bit) | bit << 1;
    return up <= m ? up : u ^ bit;
}

static int children_of(int u, int m, int children[2])
{
    int count = 0;
    const int bit = u & -u;
    if (bit > 1)
        children[count++] = u - bit / 2;
    for (int step = bit / 2; step > 0; step /= 2)
        if (u + step <= m) {
            children[count++] = u + step;
            break;
        }
    return count;
}

/* The second tree is the first one mirrored if m is even, else moved on by one: whoever is a leaf
 * in one tree stands at an even place in the other, but for one rank that is a leaf in both. */
static int in_tree(int v, int m, int tree)
{
    if (tree == 0 || v == 0)
        return v;
    return m % 2 == 0 ? m + 1 - v : v == 1 ? m : v - 1;
}

static int out_of_tree(int u, int m, int tree)
{
    if (tree == 0 || u == 0)
        return u;
    return m % 2 == 0 ? m + 1 - u : u == m ? 1 : u + 1;
}

/* This rank in one of the trees. */
struct lane {
    const struct pl_call *call;
    MPI_Comm peers;
    int tree;
    struct pl_range half;
    int segment, segments;
    int parent, children[2], count; /* ranks; -1: none */
    int height, top;                /* above the leaves: of this rank, of the root */
    int depth;                      /* segments of a child there is room for */
    void *rooms;                    /* NULL: they come in at recvbuf, if any do */
    MPI_Request up[2][2], leaving;
    MPI_Request down[2], passing[2];
};

static void find_place(struct lane *lane, int p, int rank, int root)
{
    const int m = p - 1, v = pl_from_root(rank, root, p), u = in_tree(v, m, lane->tree);
    int first = 1; /* below the root */
    for (lane->top = 1; first <= m / 2; lane->top++)
        first *= 2;
    lane->parent = -1;
    lane->height = lane->top;
    if (u > 0) {
        lane->height = 0;
        while ((u >> lane->height) % 2 == 0)
            lane->height++;
        lane->parent = pl_to_rank(out_of_tree(parent_of(u, m), m, lane->tree), root, p);
        lane->count = children_of(u, m, lane->children);
    } else {
        lane->children[0] = first;
        lane->count = 1;
    }
    for (int i = 0; i < lane->count; i++)
        lane->children[i] = pl_to_rank(out_of_tree(lane->children[i], m, lane->tree), root, p);
}

static int start(struct lane *lane, const struct pl_call *call, int p, int rank, int root)
{
    int rc = MPI_SUCCESS;
    find_place(lane, p, rank, root);
    const int most = lane->half.count > 0 ? lane->half.count : 1;
    lane->segment = pl_segment(call, call->values[0], most);
    lane->segments = most / lane->segment + (most % lane->segment > 0);
    lane->segment = most / lane->segments + (most % lane->segments > 0);
    lane->depth = lane->segments > 1 ? 2 : 1;
    lane->leaving = lane->passing[0] = lane->passing[1] = MPI_REQUEST_NULL;
    if (lane->count == 0 || (rank == root && call->sendbuf != MPI_IN_PLACE))
        return MPI_SUCCESS;
    lane->rooms = pl_scratch_elements(call->comm, lane->tree == 0 ? PL_SLOT_SEND : PL_SLOT_RECV,
                                      lane->count * lane->depth * lane->segment, call->recvtype);
    PL_NEED(call, lane->rooms);
out:
    return rc;
}

static struct pl_range segment_of(const struct lane *lane, int i)
{
    const long long first = (long long)i * lane->segment, left = lane->half.count - first;
    if (i < 0 || left <= 0)
        return (struct pl_range){lane->half.first, 0};
    return (struct pl_range){lane->half.first + (int)first,
                             left < lane->segment ? (int)left : lane->segment};
}

static void *result_of(const struct lane *lane, int i)
{
    return pl_at(lane->call->recvbuf, segment_of(lane, i).first, lane->call->recvtype);
}

static void *room_of(const struct lane *lane, int child, int i)
{
    if (!lane->rooms)
        return result_of(lane, i);
    const long long room = child * lane->depth + i % lane->depth;
    return pl_at(lane->rooms, room * lane->segment, lane->call->recvtype);
}

static int post_up(struct lane *lane, int i)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = lane->call;
    const int count = segment_of(lane, i).count;
    for (int child = 0; child < lane->count && count > 0; child++)
        PL_TRY(pl_peer_irecv(call, room_of(lane, child, i), count, call->recvtype,
                             lane->children[child], TAG_UP + lane->tree, lane->peers,
                             &lane->up[child][i % 2]));
out:
    return rc;
}

/* The own operands with those of the children, wherever the sum is. */
static int add(const struct lane *lane, int i, void **sum)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = lane->call;
    const struct pl_range range = segment_of(lane, i);
    *sum = pl_at(pl_operand(call), range.first, call->recvtype);
    for (int child = 0; child < lane->count; child++) {
        void *incoming = room_of(lane, child, i);
        if (child == 0 && (lane->parent >= 0 || !lane->rooms)) {
            PL_TRY(pl_combine(call, *sum, incoming, range.count));
            *sum = incoming;
        } else {
            PL_TRY(pl_combine(call, incoming, *sum, range.count));
        }
    }
out:
    return rc;
}

/* Segment -1 and the one behind the last are none: they only post a receive, or wait for a send. */
static int step_up(struct lane *lane, int i)
{
    int rc;
    void *sum;
    const struct pl_call *call = lane->call;
    const int count = segment_of(lane, i).count;
    PL_TRY(pl_peer_wait(call, &lane->leaving));
    PL_TRY(post_up(lane, i + 1));
    if (count == 0)
        return MPI_SUCCESS;
    for (int child = 0; child < lane->count; child++)
        PL_TRY(pl_peer_wait(call, &lane->up[child][i % 2]));
    PL_TRY(add(lane, i, &sum));
    if (lane->parent >= 0)
        PL_TRY(pl_peer_isend(call, sum, count, call->recvtype, lane->parent, TAG_UP + lane->tree,
                             lane->peers, &lane->leaving));
out:
    return rc;
}

static int post_down(struct lane *lane, int i)
{
    const struct pl_call *call = lane->call;
    const int count = segment_of(lane, i).count;
    if (count == 0 || lane->parent < 0)
        return MPI_SUCCESS;
    return pl_peer_irecv(call, result_of(lane, i), count, call->recvtype, lane->parent,
                         TAG_DOWN + lane->tree, lane->peers, &lane->down[i % 2]);
}

static int step_down(struct lane *lane, int i)
{
    int rc;
    const struct pl_call *call = lane->call;
    const int count = segment_of(lane, i).count;
    PL_TRY(post_down(lane, i + 1));
    if (count > 0 && lane->parent >= 0)
        PL_TRY(pl_peer_wait(call, &lane->down[i % 2]));
    PL_TRY(pl_peer_wait_all(call, 2, lane->passing));
    for (int child = 0; child < lane->count && count > 0; child++)
        PL_TRY(pl_peer_isend(call, result_of(lane, i), count, call->recvtype, lane->children[child],
                             TAG_DOWN + lane->tree, lane->peers, &lane->passing[child]));
out:
    return rc;
}

/* In turn i segment i - height goes up, so that nobody waits for what is not on its way yet, and
 * both trees keep pace. In an Allreduce it is at the root in turn i + top and comes down again. In
 * place it arrives where it was sent from, two turns later at least. */
static int turns(struct lane lanes[2])
{
    int rc = MPI_SUCCESS;
    const bool all = lanes[0].call->function == PL_FN_allreduce;
    const int top = lanes[0].top;
    const int segments =
        lanes[0].segments > lanes[1].segments ? lanes[0].segments : lanes[1].segments;
    for (int i = -1; i <= segments + (all ? 2 * top : top); i++)
        for (int tree = 0; tree < 2; tree++) {
            PL_TRY(step_up(&lanes[tree], i - lanes[tree].height));
            if (all)
                PL_TRY(step_down(&lanes[tree], i - 2 * top + lanes[tree].height));
        }
out:
    return rc;
}

int pl_reduce_on_two_trees(const struct pl_call *call)
{
    int rc, p, rank;
    struct lane lane = {.call = call};
    const struct pl_cut halves = {.n = call->recvcount, .ranges = 2};
    const int root = call->function == PL_FN_allreduce ? 0 : call->root;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &lane.peers));
    struct lane lanes[2] = {lane, lane};
    for (int tree = 0; tree < 2; tree++) {
        lanes[tree].tree = tree;
        lanes[tree].half = pl_cut_range(&halves, tree);
        PL_TRY(start(&lanes[tree], call, p, rank, root));
    }
    PL_TRY(turns(lanes));
out:
    return rc;
}
