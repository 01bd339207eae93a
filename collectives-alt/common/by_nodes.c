/* Alltoall with messages between nodes that carry the blocks of many pairs of ranks: see
 * alltoall/multileader.c.
 *
 * The ranks of a node are cut into groups, and the first rank of each group leads it. Ranks stand
 * in the order of nodes->members, blocks in the order of the ranks that they go to or come from.
 * Four phases: the blocks of a group to its leader; from there to one leader of each node those for
 * all its ranks, who is the carrier of that group there; from carriers to the leaders on their
 * node; from leaders to their groups. Where groups have one rank each, the first and the last have
 * no messages.
 */
#include "everyone.h"

#include <limits.h>

enum { TAG_UP = 61, TAG_ACROSS, TAG_INSIDE, TAG_DOWN };

struct group {
    int node, number; /* which group of its node */
    int first, size;  /* in members */
};

struct travel {
    MPI_Comm peers;
    const struct pl_nodes *nodes;
    int p, rank, own; /* own: the group of this rank */
    size_t bytes;     /* of a block */
    int count;        /* of groups, node after node */
    struct group *groups;
    int *base;         /* by node: its first group; base[nodes->count] is count */
    MPI_Request *open; /* 2 p of them */
};

static int groups_of(const struct pl_nodes *nodes, int node, int leaders, int most)
{
    const int size = nodes->first[node + 1] - nodes->first[node];
    const int least = size / most + (size % most > 0);
    if (nodes->least_ppn < nodes->most_ppn)
        return size; /* so that what a carrier has is bounded */
    return leaders >= size ? size : leaders > least ? leaders : least;
}

/* The group that carries the blocks of `group` to a node. */
static int carrier_of(const struct travel *travel, int group, int node)
{
    if (travel->groups[group].node == node)
        return group;
    return travel->base[node] + group % (travel->base[node + 1] - travel->base[node]);
}

static int leader_of(const struct travel *travel, int group)
{
    return travel->nodes->members[travel->groups[group].first];
}

static int ranks_of(const struct travel *travel, int node)
{
    return travel->nodes->first[node + 1] - travel->nodes->first[node];
}

/* The groups that a carrier carries on its own node have equal remainders, so that they are found
 * without looking at all: `at` goes from the carrier's number in steps of that many to the end. */
static int stride_of(const struct travel *travel, int carrier)
{
    const int node = travel->groups[carrier].node;
    return travel->base[node + 1] - travel->base[node];
}

static int carried_at(const struct travel *travel, int carrier, int at)
{
    return travel->groups[at].node == travel->groups[carrier].node ? carrier : at;
}

/* How many ranks these groups have. */
static int carried_by(const struct travel *travel, int carrier)
{
    int ranks = 0;
    for (int at = travel->groups[carrier].number; at < travel->count;
         at += stride_of(travel, carrier))
        ranks += travel->groups[carried_at(travel, carrier, at)].size;
    return ranks;
}

static int prepare(const struct pl_call *call, struct travel *travel)
{
    int rc;
    PL_TRY(pl_ranks(call, &travel->p, &travel->rank));
    PL_TRY(pl_private(call->comm, &travel->peers));
    PL_TRY(pl_nodes(call->comm, &travel->nodes));
    const struct pl_nodes *nodes = travel->nodes;
    const long long volume = pl_volume(call);
    const int most = volume > INT_MAX / PL_GROUP_MOST ? 1 : PL_GROUP_MOST;
    travel->bytes = (size_t)(volume / travel->p);
    const size_t p = (size_t)travel->p;
    char *memory =
        pl_scratch(call->comm, PL_SLOT_AUX,
                   p * sizeof(struct group) + (p + 1) * sizeof(int) + 2 * p * sizeof(MPI_Request));
    PL_NEED(call, memory);
    travel->open = (MPI_Request *)memory;
    travel->groups = (struct group *)(travel->open + 2 * p);
    travel->base = (int *)(travel->groups + p);
    travel->count = 0;
    for (int node = 0; node < nodes->count; node++) {
        const int groups = groups_of(nodes, node, call->values[0], most);
        const long long size = ranks_of(travel, node);
        travel->base[node] = travel->count;
        for (int i = 0; i < groups; i++) {
            const int first = (int)(size * i / groups), end = (int)(size * (i + 1) / groups);
            const struct group group = {node, i, nodes->first[node] + first, end - first};
            for (int place = group.first; place < group.first + group.size; place++)
                if (nodes->members[place] == travel->rank)
                    travel->own = travel->count;
            travel->groups[travel->count++] = group;
        }
    }
    travel->base[nodes->count] = travel->count;
out:
    return rc;
}

/* The blocks that this rank sends, in the order of members. */
static int own_row(const struct pl_call *call, const struct travel *travel, bool copied, char *room,
                   const char **row)
{
    int rc = MPI_SUCCESS;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    const MPI_Datatype type = in_place ? call->recvtype : call->sendtype;
    if (!copied && travel->nodes->consecutive && pl_dense(type)) {
        *row = in_place ? call->recvbuf : call->sendbuf;
        return rc;
    }
    *row = room;
    for (int i = 0; i < travel->p; i++, room += travel->bytes) {
        const int to = travel->nodes->members[i];
        const struct pl_block block = in_place ? pl_from(call, to) : pl_to(call, to);
        PL_TRY(pl_pack(block.buf, block.count, block.type, room, (int)travel->bytes, call->comm));
    }
out:
    return rc;
}

/* From `rows` rows of `length` blocks each to rows of `count` of them that begin with `first`. */
static char *pack_columns(const struct travel *travel, char *to, const char *from, int rows,
                          int length, int first, int count)
{
    const size_t bytes = (size_t)count * travel->bytes;
    from += (size_t)first * travel->bytes;
    for (int i = 0; i < rows; i++, from += (size_t)length * travel->bytes, to += bytes)
        memcpy(to, from, bytes);
    return to;
}

static int receive(const struct pl_call *call, const struct travel *travel, char *to, int blocks,
                   int from, int tag, int *open)
{
    return pl_peer_irecv(call, to, blocks * (int)travel->bytes, MPI_BYTE, from, tag, travel->peers,
                         &travel->open[(*open)++]);
}

static int send(const struct pl_call *call, const struct travel *travel, const char *from,
                int blocks, int to, int tag, int *open)
{
    return pl_peer_isend(call, from, blocks * (int)travel->bytes, MPI_BYTE, to, tag, travel->peers,
                         &travel->open[(*open)++]);
}

/* At a leader: a row for each rank of the group. */
static int gather(const struct pl_call *call, const struct travel *travel, char *room,
                  const char **rows)
{
    int rc, open = 0;
    const struct group *group = &travel->groups[travel->own];
    const size_t row = (size_t)travel->p * travel->bytes;
    for (int i = 1; i < group->size; i++)
        PL_TRY(receive(call, travel, room + (size_t)i * row, travel->p,
                       travel->nodes->members[group->first + i], TAG_UP, &open));
    PL_TRY(own_row(call, travel, group->size > 1, room, rows));
    PL_TRY(pl_peer_wait_all(call, open, travel->open));
out:
    return rc;
}

/* `carried` gets a row of blocks for all ranks of this node from each rank that is carried. */
static int across(const struct pl_call *call, const struct travel *travel, const char *rows,
                  char *room, char *carried)
{
    int rc = MPI_SUCCESS, open = 0;
    const struct group *own = &travel->groups[travel->own];
    const int *first = travel->nodes->first, here = ranks_of(travel, own->node);
    for (int at = own->number; at < travel->count; at += stride_of(travel, travel->own)) {
        const int group = carried_at(travel, travel->own, at), size = travel->groups[group].size;
        if (group == travel->own)
            pack_columns(travel, carried, rows, size, travel->p, first[own->node], here);
        else
            PL_TRY(receive(call, travel, carried, size * here, leader_of(travel, group), TAG_ACROSS,
                           &open));
        carried += (size_t)size * (size_t)here * travel->bytes;
    }
    for (int i = 1; i < travel->nodes->count; i++) { /* the next node first */
        const int node = (own->node + i) % travel->nodes->count, ranks = ranks_of(travel, node);
        const char *message = rows + (size_t)first[node] * travel->bytes;
        if (own->size > 1) {
            message = room;
            room = pack_columns(travel, room, rows, own->size, travel->p, first[node], ranks);
        }
        PL_TRY(send(call, travel, message, own->size * ranks,
                    leader_of(travel, carrier_of(travel, travel->own, node)), TAG_ACROSS, &open));
    }
    PL_TRY(pl_peer_wait_all(call, open, travel->open));
out:
    return rc;
}

/* `columns` gets a row of blocks for this group from each rank, carrier after carrier. */
static int inside(const struct pl_call *call, const struct travel *travel, const char *carried,
                  char *room, char *columns)
{
    int rc = MPI_SUCCESS, open = 0;
    const struct group *own = &travel->groups[travel->own];
    const int *base = &travel->base[own->node], mine = carried_by(travel, travel->own);
    const int here = ranks_of(travel, own->node), first = travel->nodes->first[own->node];
    for (int carrier = base[0]; carrier < base[1]; carrier++) {
        const int rows = carried_by(travel, carrier);
        if (carrier == travel->own)
            pack_columns(travel, columns, carried, rows, here, own->first - first, own->size);
        else
            PL_TRY(receive(call, travel, columns, rows * own->size, leader_of(travel, carrier),
                           TAG_INSIDE, &open));
        columns += (size_t)rows * (size_t)own->size * travel->bytes;
    }
    for (int i = 1; i < base[1] - base[0]; i++) {
        const int to = base[0] + (own->number + i) % (base[1] - base[0]);
        const struct group *group = &travel->groups[to];
        const char *message = room;
        room = pack_columns(travel, room, carried, mine, here, group->first - first, group->size);
        PL_TRY(send(call, travel, message, mine * group->size, leader_of(travel, to), TAG_INSIDE,
                    &open));
    }
    PL_TRY(pl_peer_wait_all(call, open, travel->open));
out:
    return rc;
}

/* Blocks for this rank into their places; they come carrier after carrier, `stride` blocks apart.
 */
static int deliver(const struct pl_call *call, const struct travel *travel, const char *blocks,
                   int stride)
{
    int rc = MPI_SUCCESS;
    const int node = travel->groups[travel->own].node;
    for (int carrier = travel->base[node]; carrier < travel->base[node + 1]; carrier++)
        for (int at = travel->groups[carrier].number; at < travel->count;
             at += stride_of(travel, carrier)) {
            const struct group *from = &travel->groups[carried_at(travel, carrier, at)];
            for (int i = 0; i < from->size; i++, blocks += (size_t)stride * travel->bytes) {
                const struct pl_block block =
                    pl_from(call, travel->nodes->members[from->first + i]);
                PL_TRY(pl_unpack(blocks, (int)travel->bytes, (void *)block.buf, block.count,
                                 block.type, call->comm));
            }
        }
out:
    return rc;
}

static int scatter(const struct pl_call *call, const struct travel *travel, const char *columns,
                   char *room)
{
    int rc = MPI_SUCCESS, open = 0;
    const struct group *own = &travel->groups[travel->own];
    for (int i = 1; i < own->size; i++) {
        const char *message = room;
        room = pack_columns(travel, room, columns, travel->p, own->size, i, 1);
        PL_TRY(send(call, travel, message, travel->p, travel->nodes->members[own->first + i],
                    TAG_DOWN, &open));
    }
    PL_TRY(deliver(call, travel, columns, own->size));
    PL_TRY(pl_peer_wait_all(call, open, travel->open));
out:
    return rc;
}

/* Each phase packs its messages in the room that it does not read or fill. */
static int lead(const struct pl_call *call, const struct travel *travel)
{
    int rc;
    const struct group *own = &travel->groups[travel->own];
    const size_t rows = (size_t)own->size * (size_t)travel->p * travel->bytes;
    const size_t carried = (size_t)carried_by(travel, travel->own) *
                           (size_t)ranks_of(travel, own->node) * travel->bytes;
    char *first = pl_scratch(call->comm, PL_SLOT_SEND, rows > carried ? rows : carried);
    char *second = pl_scratch(call->comm, PL_SLOT_RECV, carried);
    char *third = pl_scratch(call->comm, PL_SLOT_WORK, rows);
    const char *sent;
    PL_NEED(call, first && second && third);
    PL_TRY(gather(call, travel, first, &sent));
    PL_TRY(across(call, travel, sent, third, second));
    PL_TRY(inside(call, travel, second, first, third));
    PL_TRY(scatter(call, travel, third, second));
out:
    return rc;
}

static int follow(const struct pl_call *call, const struct travel *travel)
{
    int rc;
    const size_t all = (size_t)travel->p * travel->bytes;
    const int leader = leader_of(travel, travel->own);
    const char *row;
    char *room = pl_scratch(call->comm, PL_SLOT_SEND, all);
    char *blocks = pl_scratch(call->comm, PL_SLOT_RECV, all);
    PL_NEED(call, room && blocks);
    PL_TRY(own_row(call, travel, false, room, &row));
    PL_TRY(pl_peer_send(call, row, (int)all, MPI_BYTE, leader, TAG_UP, travel->peers));
    PL_TRY(pl_peer_recv(call, blocks, (int)all, MPI_BYTE, leader, TAG_DOWN, travel->peers));
    PL_TRY(deliver(call, travel, blocks, 1));
out:
    return rc;
}

int pl_alltoall_by_nodes(const struct pl_call *call)
{
    int rc;
    struct travel travel;
    PL_TRY(prepare(call, &travel));
    if (travel.bytes == 0)
        return MPI_SUCCESS;
    return leader_of(&travel, travel.own) == travel.rank ? lead(call, &travel)
                                                         : follow(call, &travel);
out:
    return rc;
}
