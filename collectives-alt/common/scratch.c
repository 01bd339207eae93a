/* Scratch memory: blocks that a communicator keeps for its next calls. What those of a process keep
 * together has a bound: above it those that were called least recently give back theirs. */
#include "tools.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

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

void pl_kept_free_scratch(struct pl_kept *kept)
{
    lock();
    give_back(kept, kept->levels);
    unlock();
}

void pl_scratch_release(MPI_Comm comm)
{
    struct pl_kept *kept = pl_kept_on(comm);
    if (kept)
        pl_kept_free_scratch(kept);
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
