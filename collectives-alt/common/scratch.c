/* Scratch memory: blocks that a communicator keeps for its next calls. What those of a process keep
 * together has a bound: above it those that were called least recently give back theirs. */
#include "kept.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* Communicators that keep blocks, in a ring: behind it the one called last, before it the one that
 * was not called for longest. */
static struct pl_kept ring = {.before = &ring, .after = &ring};

static struct {
    size_t held, most;
    bool threads; /* calls may come at the same time */
    pthread_mutex_t lock;
} scratch = {.most = SIZE_MAX, .lock = PTHREAD_MUTEX_INITIALIZER};

void pl_scratch_limit(size_t most, bool threads)
{
    scratch.most = most;
    scratch.threads = threads;
}

static void lock(void)
{
    if (scratch.threads)
        pthread_mutex_lock(&scratch.lock);
}

static void unlock(void)
{
    if (scratch.threads)
        pthread_mutex_unlock(&scratch.lock);
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
    if (ring.after == kept)
        return;
    take_out(kept);
    kept->before = &ring;
    kept->after = ring.after;
    ring.after->before = kept;
    ring.after = kept;
}

static void free_block(struct pl_kept *kept, int slot)
{
    free(kept->block[slot]);
    scratch.held -= kept->size[slot];
    kept->block[slot] = NULL;
    kept->size[slot] = 0;
}

static void give_back(struct pl_kept *kept)
{
    for (int slot = 0; slot < PL_SCRATCH_SLOTS; slot++)
        free_block(kept, slot);
    take_out(kept);
}

static size_t size_of(const struct pl_kept *kept)
{
    size_t sum = 0;
    for (int slot = 0; slot < PL_SCRATCH_SLOTS; slot++)
        sum += kept->size[slot];
    return sum;
}

static bool fits(size_t more)
{
    return scratch.held <= scratch.most && more <= scratch.most - scratch.held;
}

/* Whoever is in a call keeps what it has. */
static void make_room(const struct pl_kept *kept, size_t bytes)
{
    for (struct pl_kept *other = ring.before; other != &ring && !fits(bytes);) {
        struct pl_kept *next = other->before;
        if (other != kept && !atomic_load_explicit(&other->in_call, memory_order_acquire))
            give_back(other);
        other = next;
    }
}

void *pl_scratch(MPI_Comm comm, int slot, size_t bytes)
{
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return NULL;
    if (kept->block[slot] && kept->size[slot] >= bytes)
        return kept->block[slot];
    const size_t size = bytes / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    lock();
    free_block(kept, slot);
    make_room(kept, size);
    kept->block[slot] = size > bytes ? aligned_alloc(ALIGNMENT, size) : NULL;
    kept->size[slot] = kept->block[slot] ? size : 0;
    scratch.held += kept->size[slot];
    put_first(kept);
    unlock();
    return kept->block[slot];
}

struct pl_kept *pl_scratch_begin(MPI_Comm comm, size_t bound)
{
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return NULL;
    lock();
    atomic_store_explicit(&kept->in_call, true, memory_order_relaxed);
    if (size_of(kept) > scratch.most - bound)
        give_back(kept);
    if (kept->after)
        put_first(kept);
    unlock();
    return kept;
}

void pl_scratch_end(struct pl_kept *kept)
{
    if (kept)
        atomic_store_explicit(&kept->in_call, false, memory_order_release);
}

size_t pl_scratch_held(void)
{
    return scratch.held;
}

size_t pl_scratch_kept(MPI_Comm comm)
{
    const struct pl_kept *kept = pl_kept_on(comm);
    return kept ? size_of(kept) : 0;
}

void pl_kept_free_scratch(struct pl_kept *kept)
{
    lock();
    give_back(kept);
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
    const size_t words = 4096 + 256 * (size_t)p;
    if (__builtin_mul_overflow((size_t)variant->scratch_volumes, one, &one))
        return SIZE_MAX;
    return one < SIZE_MAX - words ? one + words : SIZE_MAX;
}

MPI_Request *pl_requests(MPI_Comm comm, int count)
{
    return pl_scratch(comm, PL_SLOT_REQUESTS, (size_t)count * sizeof(MPI_Request));
}
