/* The shared memory of a node (shared.h). A file without a name (memfd_create) that the first rank
 * makes and the others open through /proc: nothing is left of it at whatever end, and no /dev/shm
 * can be full. Where a rank cannot open it (another container, no /proc) no rank uses it. */
#include "shared.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a process shares at most: parts of its own, in bytes. */
enum { MOST_BYTES = 32 << 20 };
/* Looks before MPI gets a turn, some microseconds, and how often it gets one from then on; looks
 * before the processor is given to others. */
enum { LOOKS = 100, PROGRESS_EVERY = 32, LOOKS_BEFORE_YIELD = 1000 };

#if defined __x86_64__ || defined __i386__
#define PAUSE() __builtin_ia32_pause()
#elif defined __aarch64__
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

#ifdef SMPI_H /* what is in memory would take no time */
int pl_shared_made(const struct pl_call *call, struct pl_shared **shared)
{
    (void)call;
    *shared = NULL;
    return MPI_SUCCESS;
}

#else

static atomic_llong shared_bytes; /* by this process */

/* What each rank tells all others; of the first rank of a node it is that of the node. */
struct offer {
    long long process;
    uint64_t number; /* drawn, and written to the memory */
    int file;        /* -1: there is none */
};

static void *map(int file, size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Of the first rank; NULL and -1 where there is none. */
static void *make_memory(size_t length, int *file)
{
    *file = memfd_create("plumbline", MFD_CLOEXEC);
    if (*file < 0)
        return NULL;
    void *memory = ftruncate(*file, (off_t)length) == 0 ? map(*file, length) : NULL;
    if (!memory) {
        close(*file);
        *file = -1;
    }
    return memory;
}

/* The file of a process that may be another one of this number, in another container. */
static void *open_memory(const struct offer *offer, size_t length)
{
    char path[64];
    struct stat found;
    void *memory = NULL;
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", offer->process, offer->file);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &found) == 0 && found.st_size == (off_t)length && found.st_nlink == 0)
        memory = map(file, length);
    close(file);
    return memory;
}

static void note_cores(struct pl_shared_part *part)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return;
    _Static_assert(sizeof cores <= sizeof part->cores, "all cores have a bit");
    memcpy(part->cores, &cores, sizeof cores);
}

static int count_cores(const struct pl_shared *shared)
{
    int count = 0;
    for (size_t i = 0; i < sizeof shared->parts->cores; i++) {
        unsigned bits = 0;
        for (int rank = 0; rank < shared->p; rank++)
            bits |= shared->parts[rank].cores[i];
        count += __builtin_popcount(bits);
    }
    return count;
}

/* Has the kernel make or find the pages of parts, which would take several times as long as a call
 * in the first calls. An older kernel does that then. */
static void populate(struct pl_shared_part *parts, int count, bool writes)
{
#ifdef MADV_POPULATE_WRITE
    const int advice = writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    madvise(parts, (size_t)count * sizeof *parts, advice);
#else
    (void)parts, (void)count, (void)writes;
#endif
}

/* All ranks of a node have the memory of its first one: it has the number that this rank drew. */
static int share(MPI_Comm comm, const struct pl_nodes *nodes, int rank, bool may,
                 struct pl_shared *shared, struct offer *offers, bool *good)
{
    int rc, file = -1, all = 0;
    const int first = nodes->members[nodes->first[nodes->node_of[rank]]];
    struct offer mine = {.process = getpid(), .file = -1};
    mine.number = (uint64_t)(PMPI_Wtime() * 1e9) ^ (uint64_t)mine.process << 40;
    if (shared->rank == 0 && may)
        shared->parts = make_memory(shared->length, &file);
    mine.file = file;
    if (shared->parts)
        atomic_store(&shared->parts->written, mine.number);
    PL_TRY(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, offers, sizeof mine, MPI_BYTE, comm));
    if (shared->rank > 0 && may && offers[first].file >= 0)
        shared->parts = open_memory(&offers[first], shared->length);
    int mine_good = shared->parts && atomic_load(&shared->parts->written) == offers[first].number;
    if (mine_good)
        note_cores(&shared->parts[shared->rank]);
    PL_TRY(PMPI_Allreduce(&mine_good, &all, 1, MPI_INT, MPI_MIN, comm));
    if (all) {
        shared->crowded = count_cores(shared) < shared->p;
        populate(&shared->parts[shared->rank], 1, true);
    }
    /* All have seen the number, and nobody waits for a step before it is gone. */
    if (all && shared->rank == 0)
        atomic_store(&shared->parts->written, 0);
    PL_TRY(PMPI_Barrier(comm));
    if (all)
        populate(shared->parts, shared->p, false);
    *good = all;
out:
    if (file >= 0)
        close(file);
    return rc;
}

static void free_shared(struct pl_shared *shared)
{
    if (shared->parts)
        munmap(shared->parts, shared->length);
    atomic_fetch_sub(&shared_bytes, (long long)sizeof(struct pl_shared_part));
    free(shared);
}

static int make_shared(MPI_Comm comm, struct pl_kept *kept)
{
    int rc;
    bool good = false;
    const struct pl_nodes *nodes;
    PL_TRY(pl_nodes(comm, &nodes));
    struct pl_shared *shared = calloc(1, sizeof *shared);
    struct offer *offers = malloc((size_t)kept->p * sizeof *offers);
    if (!shared || !offers) {
        free(shared);
        free(offers);
        return pl_raise(comm, MPI_ERR_NO_MEM);
    }
    const long long bytes = sizeof(struct pl_shared_part);
    const bool may = atomic_fetch_add(&shared_bytes, bytes) + bytes <= MOST_BYTES;
    const int node = nodes->node_of[kept->rank];
    shared->p = nodes->first[node + 1] - nodes->first[node];
    while (nodes->members[nodes->first[node] + shared->rank] != kept->rank)
        shared->rank++;
    shared->is_whole = nodes->count == 1;
    shared->comm = comm;
    shared->length = (size_t)shared->p * (size_t)bytes;
    rc = share(comm, nodes, kept->rank, may, shared, offers, &good);
    kept->free_shared = free_shared;
    if (good)
        kept->shared = shared;
    else
        free_shared(shared);
    free(offers);
out:
    return rc;
}

int pl_shared_made(const struct pl_call *call, struct pl_shared **shared)
{
    int rc = MPI_SUCCESS;
    struct pl_kept *kept = pl_kept_of(call);
    if (!kept)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    if (!kept->shares_nothing)
        rc = make_shared(call->comm, kept);
    kept->shares_nothing = !kept->shared;
    *shared = kept->shared;
    return rc == PL_LEFT ? MPI_SUCCESS : rc;
}

#endif

/* A message that another rank waits for may need this one, so MPI gets turns. */
void pl_shared_wait(const struct pl_shared *shared, const _Atomic uint64_t *counter,
                    uint64_t number)
{
    int there;
    const int quiet_looks = shared->crowded ? 0 : LOOKS;
    const int looks_before_yield = shared->crowded ? 0 : LOOKS_BEFORE_YIELD;
    for (int looks = 1; atomic_load_explicit(counter, memory_order_acquire) < number; looks++) {
        if (looks > quiet_looks && looks % PROGRESS_EVERY == 0)
            PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, shared->comm, &there, MPI_STATUS_IGNORE);
        if (looks > looks_before_yield)
            sched_yield();
        else
            PAUSE();
        if (looks == INT_MAX - 1)
            looks = looks_before_yield;
    }
}

void pl_shared_wait_for_readers(struct pl_shared *shared, uint64_t number)
{
    uint64_t least = UINT64_MAX;
    for (int rank = 0; rank < shared->p; rank++) {
        if (rank == shared->rank)
            continue;
        const _Atomic uint64_t *read = &shared->parts[rank].read;
        pl_shared_await(shared, read, number);
        const uint64_t now = atomic_load_explicit(read, memory_order_acquire);
        least = now < least ? now : least;
    }
    shared->all_read = least;
}
