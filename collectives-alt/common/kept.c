/* The state that Plumbline keeps on a communicator: its size, scratch memory, a private
 * communicator, the ranks that share a node (nodes.c) and memory (shared.c), the neighbours in its
 * topology (neighbors.c), and in libplumbline.so the rules that can match there.
 *
 * All of the state hangs on one attribute, so it lives and dies with the communicator; a duplicate
 * starts without. Each thread remembers its last communicators, so most calls need not ask MPI for
 * the attribute. Collective calls on one communicator are serial by the standard, so no lock is
 * needed. */
#include "tools.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

PL_A_THREAD struct pl_seen pl_seen[PL_SEEN];
atomic_uint pl_generation = 1; /* not that of an empty entry */

/* --- scratch memory: blocks that a communicator keeps for its next calls. What those of a process
 * keep together has a bound: above it those that were called least recently give back theirs --- */

enum { ALIGNMENT = 64 };

struct pl_scratch_state pl_scratch_state = {
    .most = SIZE_MAX,
    .head = {.before = &pl_scratch_state.head, .after = &pl_scratch_state.head},
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void pl_scratch_limit(size_t most, bool threads)
{
    pl_scratch_state.most = most;
    pl_scratch_state.threads = threads;
}

static void lock(void)
{
    if (pl_scratch_state.threads)
        pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    if (pl_scratch_state.threads)
        pthread_mutex_unlock(&mutex);
}

static void take_out(struct pl_kept *kept)
{
    if (!kept->after)
        return;
    kept->before->after = kept->after;
    kept->after->before = kept->before;
    kept->before = kept->after = NULL;
}

static void put_first(struct pl_kept *kept)
{
    if (pl_scratch_state.head.after == kept)
        return;
    take_out(kept);
    kept->before = &pl_scratch_state.head;
    kept->after = pl_scratch_state.head.after;
    pl_scratch_state.head.after->before = kept;
    pl_scratch_state.head.after = kept;
}

static void free_block(struct pl_kept *kept, struct pl_blocks *of, int slot)
{
    free(of->block[slot]);
    pl_scratch_state.held -= of->size[slot];
    kept->held -= of->size[slot];
    of->block[slot] = NULL;
    of->size[slot] = 0;
}

/* From a level on: lower ones are those of calls around the one under way. */
static void give_back(struct pl_kept *kept, struct pl_blocks *first)
{
    for (struct pl_blocks *of = first; of < kept->levels + PL_DEPTH; of++)
        for (int slot = 0; slot < PL_SCRATCH_SLOTS; slot++)
            free_block(kept, of, slot);
    if (first == kept->levels)
        take_out(kept);
}

static bool fits(size_t more)
{
    return pl_scratch_state.held <= pl_scratch_state.most &&
           more <= pl_scratch_state.most - pl_scratch_state.held;
}

/* Whoever is in a call keeps what it has. */
static void make_room(const struct pl_kept *kept, size_t bytes)
{
    for (struct pl_kept *other = pl_scratch_state.head.before;
         other != &pl_scratch_state.head && !fits(bytes);) {
        struct pl_kept *next = other->before;
        if (other != kept && !atomic_load_explicit(&other->in_call, memory_order_acquire))
            give_back(other, other->levels);
        other = next;
    }
}

static PL_NOT_INLINE void *grow(MPI_Comm comm, int slot, size_t bytes)
{
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return NULL;
    struct pl_blocks *now = kept->now;
    if (now->block[slot] && now->size[slot] >= bytes)
        return now->block[slot];
    const size_t size = bytes / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    lock();
    free_block(kept, now, slot);
    make_room(kept, size);
    now->block[slot] = size > bytes ? aligned_alloc(ALIGNMENT, size) : NULL;
    now->size[slot] = now->block[slot] ? size : 0;
    kept->held += now->size[slot];
    pl_scratch_state.held += now->size[slot];
    put_first(kept);
    unlock();
    return now->block[slot];
}

void *pl_scratch(MPI_Comm comm, int slot, size_t bytes)
{
    const struct pl_kept *kept = pl_seen_on(comm);
    const struct pl_blocks *now = kept ? kept->now : NULL;
    return now && now->block[slot] && now->size[slot] >= bytes ? now->block[slot]
                                                               : grow(comm, slot, bytes);
}

void pl_scratch_make_room(struct pl_kept *kept, size_t bound)
{
    lock();
    atomic_store_explicit(&kept->in_call, pl_scratch_state.threads, memory_order_relaxed);
    if (kept->held > pl_scratch_state.most - bound)
        give_back(kept, kept->now);
    if (kept->after)
        put_first(kept);
    unlock();
}

/* Blocks of the calls around this one could not be given back, and more may be kept than may be. */
void pl_scratch_leave(struct pl_kept *kept, struct pl_blocks *around, bool takes_memory)
{
    lock();
    if (kept->held > pl_scratch_state.most)
        give_back(kept, kept->now);
    kept->now = around;
    if (around == kept->levels && !takes_memory)
        atomic_store_explicit(&kept->in_call, false, memory_order_relaxed);
    unlock();
}

size_t pl_scratch_held(void)
{
    return pl_scratch_state.held;
}

size_t pl_scratch_kept(MPI_Comm comm)
{
    const struct pl_kept *kept = pl_kept_on(comm);
    return kept ? kept->held : 0;
}

static void free_scratch(struct pl_kept *kept)
{
    lock();
    give_back(kept, kept->levels);
    unlock();
}

void pl_scratch_release(MPI_Comm comm)
{
    struct pl_kept *kept = pl_kept_on(comm);
    if (kept)
        free_scratch(kept);
}

/* A reduction keeps elements with their gaps, and may pad a vector to p equal blocks. */
size_t pl_scratch_bound(const struct pl_variant *variant, const struct pl_call *call,
                        long long volume, int p)
{
    size_t one = (size_t)volume + (size_t)p;
    int size = 0;
    MPI_Aint lb, extent, true_extent;
    if (pl_reduces(call->function) && PMPI_Type_size(call->recvtype, &size) == MPI_SUCCESS &&
        size > 0) {
        PMPI_Type_get_extent(call->recvtype, &lb, &extent);
        PMPI_Type_get_true_extent(call->recvtype, &lb, &true_extent);
        const long long elements = volume / size + p;
        if (__builtin_mul_overflow((size_t)elements, (size_t)(extent < 0 ? -extent : extent), &one))
            return SIZE_MAX;
        one += (size_t)true_extent;
    }
    const size_t words = 4096 + (size_t)variant->scratch_bytes +
                         (256 + (size_t)variant->scratch_rank_bytes) * (size_t)p;
    const int volumes =
        variant->scratch_volumes == PL_VOLUME_EACH ? p + 1 : variant->scratch_volumes;
    if (__builtin_mul_overflow((size_t)volumes, one, &one))
        return SIZE_MAX;
    return one < SIZE_MAX - words ? one + words : SIZE_MAX;
}

MPI_Request *pl_requests(MPI_Comm comm, int count)
{
    return pl_scratch(comm, PL_SLOT_REQUESTS, (size_t)count * sizeof(MPI_Request));
}

/* --- private communicators: each takes a context id, of which a library has a limited number, so a
 * process makes no more of them than it may; ranks agree on that in the split that makes one --- */

static struct {
    int most;
    atomic_int made;
} privates = {.most = INT_MAX};

void pl_private_limit(int most)
{
    privates.most = most;
}

int pl_private_made(void)
{
    return atomic_load(&privates.made);
}

/* Messages on a private communicator are those of the communicator it stands for. */
int pl_raise(MPI_Comm comm, int rc)
{
    if (rc != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, rc);
    return rc;
}

#if defined PL_PRELOAD && !defined SMPI_H
int pl_quiet(MPI_Comm comm, MPI_Errhandler *handler)
{
    int rc;
    PL_TRY(PMPI_Comm_get_errhandler(comm, handler));
    PL_TRY(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
out:
    return rc;
}

int pl_loud(MPI_Comm comm, MPI_Errhandler *handler, int outcome)
{
    int rc;
    PL_TRY(PMPI_Comm_set_errhandler(comm, *handler));
    PL_TRY(PMPI_Errhandler_free(handler));
    rc = outcome == MPI_SUCCESS ? MPI_SUCCESS : PL_LEFT;
out:
    return rc;
}
#else /* nobody else could do the call */
int pl_quiet(MPI_Comm comm, MPI_Errhandler *handler)
{
    (void)comm;
    (void)handler;
    return MPI_SUCCESS;
}

int pl_loud(MPI_Comm comm, MPI_Errhandler *handler, int outcome)
{
    (void)comm;
    (void)handler;
    return outcome;
}
#endif

/* MPI_Comm_split, not MPI_Comm_dup: the attributes of the application are none of our business.
 * Ranks that may make no more take no part: it is not whole then, and goes again. When context ids
 * are used up, a library says so on all ranks. */
static int make_private(MPI_Comm comm, bool may, MPI_Comm *made)
{
    int rc, rank, p, whole = 0;
    MPI_Errhandler handler;
    PL_TRY(PMPI_Comm_rank(comm, &rank));
    PL_TRY(PMPI_Comm_size(comm, &p));
    PL_TRY(pl_quiet(comm, &handler));
    rc = PMPI_Comm_split(comm, may ? 0 : MPI_UNDEFINED, rank, made);
    PL_TRY(pl_loud(comm, &handler, rc));
    if (*made == MPI_COMM_NULL)
        return PL_LEFT;
    PL_TRY(PMPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN));
    PL_TRY(PMPI_Comm_size(*made, &whole));
    if (whole < p) {
        PL_TRY(PMPI_Comm_free(made));
        return PL_LEFT;
    }
out:
    return rc;
}

static PL_NOT_INLINE int first_private(MPI_Comm comm, MPI_Comm *private_comm)
{
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    if (kept->private_comm == MPI_COMM_NULL) {
        if (kept->left)
            return PL_LEFT;
        const bool may = atomic_fetch_add(&privates.made, 1) < privates.most;
        const int rc = make_private(comm, may, &kept->private_comm);
        if (kept->private_comm == MPI_COMM_NULL)
            atomic_fetch_sub(&privates.made, 1);
        kept->left = rc == PL_LEFT;
        if (rc != MPI_SUCCESS)
            return rc;
    }
    *private_comm = kept->private_comm;
    return MPI_SUCCESS;
}

int pl_private(MPI_Comm comm, MPI_Comm *private_comm)
{
    const struct pl_kept *kept = pl_seen_on(comm);
    if (!kept || kept->private_comm == MPI_COMM_NULL)
        return first_private(comm, private_comm);
    *private_comm = kept->private_comm;
    return MPI_SUCCESS;
}

static int free_private(struct pl_kept *kept)
{
    if (kept->private_comm == MPI_COMM_NULL)
        return MPI_SUCCESS;
    atomic_fetch_sub(&privates.made, 1);
    return PMPI_Comm_free(&kept->private_comm);
}

/* --- the attribute --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int keyval = MPI_KEYVAL_INVALID;

/* MPI_COMM_WORLD loses its attributes inside MPI_Finalize, where no communicator can be freed. */
static int delete_kept(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)extra;
    struct pl_kept *kept = value;
    int rc = MPI_SUCCESS, finalized = 0;
    atomic_fetch_add_explicit(&pl_generation, 1, memory_order_release);
    PMPI_Finalized(&finalized);
    if (comm != MPI_COMM_WORLD && !finalized)
        rc = free_private(kept);
    free_scratch(kept);
    if (kept->shared)
        kept->free_shared(kept->shared);
    if (kept->rules)
        kept->free_rules(kept->rules);
    if (kept->neighbors)
        kept->free_neighbors(kept->neighbors);
    free(kept->nodes);
    free(kept);
    return rc;
}

static void make_keyval(void)
{
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_kept, &keyval, NULL);
}

static struct pl_kept *make_kept(MPI_Comm comm)
{
    int inter = 0;
    struct pl_kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->private_comm = MPI_COMM_NULL;
    kept->now = kept->levels;
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        PMPI_Comm_size(comm, &kept->p) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &kept->rank) != MPI_SUCCESS ||
        PMPI_Comm_set_attr(comm, keyval, kept) != MPI_SUCCESS) {
        free(kept);
        return NULL;
    }
    kept->inter = inter;
    return kept;
}

struct pl_kept *pl_kept_find(MPI_Comm comm)
{
    struct pl_kept *kept = NULL;
    int found = 0;
    pthread_once(&once, make_keyval);
    if (PMPI_Comm_get_attr(comm, keyval, &kept, &found) != MPI_SUCCESS)
        return NULL;
    if (!found)
        kept = make_kept(comm);
    const unsigned now = atomic_load_explicit(&pl_generation, memory_order_acquire);
    if (kept)
        *pl_seen_place(comm) = (struct pl_seen){.comm = comm, .generation = now, .kept = kept};
    return kept;
}

void pl_kept_forget(MPI_Comm comm)
{
    struct pl_kept *kept = NULL;
    int found = 0;
    if (keyval == MPI_KEYVAL_INVALID ||
        PMPI_Comm_get_attr(comm, keyval, &kept, &found) != MPI_SUCCESS || !found)
        return;
    free_private(kept);
    PMPI_Comm_delete_attr(comm, keyval);
}
