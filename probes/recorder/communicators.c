/* Communicators have a number on each rank, and their members are written down. Those of the same
 * members are told apart by the order in which ranks make them: that is the same on all of them. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

struct member {
    struct pl_member known;
    uint64_t members; /* hash of both groups */
    struct member *before;
};

static struct {
    int key;
    int32_t count;
    struct member *newest;
    pthread_mutex_t lock;
    atomic_uint generation; /* counts communicators that are gone: their handles are used again */
} all = {.key = MPI_KEYVAL_INVALID, .lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
    MPI_Comm comm;
    unsigned generation;
    const struct pl_member *known;
} last = {.generation = ~0U};

static int gone(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    atomic_fetch_add(&all.generation, 1);
    return MPI_SUCCESS;
}

/* World ranks of a group; NULL where there is no memory. */
static int32_t *ranks_of(MPI_Group group, int *size)
{
    MPI_Group world;
    PMPI_Group_size(group, size);
    int *own = malloc(((size_t)*size + 1) * sizeof *own);
    int *ranks = malloc(((size_t)*size + 1) * sizeof *ranks);
    if (own && ranks) {
        for (int i = 0; i < *size; i++)
            own[i] = i;
        PMPI_Comm_group(MPI_COMM_WORLD, &world);
        PMPI_Group_translate_ranks(group, *size, own, world, ranks);
        PMPI_Group_free(&world);
        for (int i = 0; i < *size; i++) /* of another job */
            ranks[i] = ranks[i] == MPI_UNDEFINED ? -1 : ranks[i];
    }
    free(own);
    return ranks;
}

static uint64_t hash_of(uint64_t start, const int32_t *ranks, int size)
{
    for (int i = 0; i < size; i++)
        start = pl_mix(start ^ (uint64_t)(uint32_t)ranks[i]) + (uint64_t)i;
    return pl_mix(start + (uint64_t)size);
}

static int32_t like(uint64_t members)
{
    int32_t count = 0;
    for (const struct member *member = all.newest; member; member = member->before)
        count += member->members == members;
    return count;
}

static struct member *describe(MPI_Comm comm)
{
    int inter = 0;
    MPI_Group group, remote = MPI_GROUP_NULL;
    struct member *member = calloc(1, sizeof *member);
    if (!member)
        return NULL;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_group(comm, &group);
    int32_t *ranks = ranks_of(group, &member->known.size), *others = NULL;
    if (inter) {
        PMPI_Comm_remote_group(comm, &remote);
        others = ranks_of(remote, &member->known.remote_size);
        PMPI_Group_free(&remote);
    }
    PMPI_Group_free(&group);
    PMPI_Comm_rank(comm, &member->known.rank);
    if (!ranks || (inter && !others)) {
        free(member);
        member = NULL;
    } else {
        const size_t width = sizeof *ranks;
        member->members =
            hash_of(hash_of(1, ranks, member->known.size), others, member->known.remote_size);
        member->known.id = all.count++;
        const int32_t number = like(member->members);
        member->before = all.newest;
        all.newest = member;
        pl_write_pieces(PL_MEMBERS, member->known.id, number, ranks,
                        (size_t)member->known.size * width);
        if (inter)
            pl_write_pieces(PL_REMOTE, member->known.id, number, others,
                            (size_t)member->known.remote_size * width);
    }
    free(ranks);
    free(others);
    return member;
}

const struct pl_member *pl_member_of(MPI_Comm comm)
{
    const unsigned generation = atomic_load_explicit(&all.generation, memory_order_acquire);
    struct member *member = NULL;
    int flag = 0;
    if (last.comm == comm && last.generation == generation && last.known)
        return last.known;
    pthread_mutex_lock(&all.lock);
    PMPI_Comm_get_attr(comm, all.key, &member, &flag);
    if (!flag) {
        member = describe(comm);
        if (member)
            PMPI_Comm_set_attr(comm, all.key, member);
    }
    pthread_mutex_unlock(&all.lock);
    last.comm = comm;
    last.generation = generation;
    last.known = member ? &member->known : NULL;
    return last.known;
}

void pl_made(MPI_Comm comm)
{
    if (pl_recording() && comm != MPI_COMM_NULL)
        pl_member_of(comm);
}

void pl_communicators_begin(void)
{
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gone, &all.key, NULL);
    pl_member_of(MPI_COMM_WORLD);
}
