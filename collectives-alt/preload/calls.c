/* The record of an application's calls: how many and how long, by function, communicator and
 * volume. What is sent is not looked at.
 *
 * Each rank has a file of its own in the folder that PLUMBLINE_CALLS names, mapped into memory:
 * what is counted is in the file, whatever becomes of the process. It is a `struct header` and a
 * table of `struct entry`, open addressing, as tuner/plumbline/recorded.py reads it. A table that
 * fills up is copied into one of twice the size, which takes its place by a rename. */
#include "preload.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 256, LAST_CAPACITY = 65536, NAME_BYTES = 32, LIBRARY_BYTES = 256 };

struct entry {
    int64_t bytes; /* PL_NO_VOLUME: not known */
    int64_t calls; /* 0: the entry is free */
    int64_t ns, fastest_ns;
    int32_t function, nprocs;
    int32_t nodes, ppn; /* 0: not known */
};

struct header {
    char magic[8];
    uint32_t one, header_bytes, entry_bytes, capacity; /* one: in the order of bytes here */
    int32_t rank, nprocs, functions, finished;
    int64_t job; /* equal on all ranks of MPI_COMM_WORLD */
    int64_t elapsed_ns;
    int64_t lost; /* calls that no entry could be found for */
    char library[LIBRARY_BYTES];
    char names[PL_FUNCTION_COUNT][NAME_BYTES];
};

static struct {
    struct header *header; /* NULL: nothing is recorded */
    struct entry *entries; /* behind it */
    uint32_t used;
    int64_t started;
    char path[PATH_MAX];
    pthread_mutex_t lock;
} book = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct pl_active_rule pl_recorded[1];

static int64_t now(void)
{
#ifdef SMPI_H /* the time of the simulated machine */
    return (int64_t)(PMPI_Wtime() * 1e9);
#else
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
#endif
}

static size_t length_of(uint32_t capacity)
{
    return sizeof(struct header) + capacity * sizeof(struct entry);
}

/* NULL with errno. The blocks are there before they are written to: a full disk is an error here
 * and no signal later. */
static struct header *map(const char *path, uint32_t capacity)
{
    const size_t length = length_of(capacity);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return NULL;
    void *memory = MAP_FAILED;
    errno = posix_fallocate(file, 0, (off_t)length);
    if (errno == 0)
        memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int failure = errno;
    close(file);
    if (memory != MAP_FAILED)
        return memory;
    unlink(path);
    errno = failure;
    return NULL;
}

static bool same(const struct entry *left, const struct entry *right)
{
    return left->function == right->function && left->bytes == right->bytes &&
           left->nprocs == right->nprocs && left->nodes == right->nodes && left->ppn == right->ppn;
}

/* The entry of this key, or the free one where it belongs; NULL when the table is full. */
static struct entry *find(struct entry *entries, uint32_t capacity, const struct entry *key)
{
    uint64_t hash = (uint64_t)key->bytes * 31 + (uint64_t)key->function;
    hash = (hash * 31 + (uint64_t)key->nprocs) * 31 + (uint64_t)key->nodes;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> 40) & (capacity - 1);
    for (uint32_t tried = 0; tried < capacity; tried++, at = (at + 1) & (capacity - 1))
        if (entries[at].calls == 0 || same(&entries[at], key))
            return &entries[at];
    return NULL;
}

/* False where the table stays as it is. */
static bool grow(void)
{
    char part[PATH_MAX + 8];
    struct header *old = book.header;
    const uint32_t capacity = 2 * old->capacity;
    if (capacity > LAST_CAPACITY)
        return false;
    snprintf(part, sizeof part, "%s.part", book.path);
    struct header *new = map(part, capacity);
    if (!new)
        return false;
    *new = *old;
    new->capacity = capacity;
    struct entry *entries = (struct entry *)(new + 1);
    for (uint32_t i = 0; i < old->capacity; i++)
        if (book.entries[i].calls > 0)
            *find(entries, capacity, &book.entries[i]) = book.entries[i];
    if (rename(part, book.path) != 0) {
        munmap(new, length_of(capacity));
        unlink(part);
        return false;
    }
    book.header = new;
    book.entries = entries;
    munmap(old, length_of(old->capacity));
    return true;
}

/* Volumes past three quarters of the last table are counted as not known: what is left of it has
 * room for these. */
static struct entry *entry_of(struct entry *key)
{
    struct entry *found = find(book.entries, book.header->capacity, key);
    if (found && found->calls > 0)
        return found;
    if (4 * (uint64_t)book.used >= 3 * (uint64_t)book.header->capacity) {
        if (!grow())
            key->bytes = PL_NO_VOLUME;
        found = find(book.entries, book.header->capacity, key);
    }
    if (found && found->calls == 0) {
        *found = *key;
        book.used++;
    }
    return found;
}

static long long vector_bytes(const int *counts, int p, MPI_Datatype type)
{
    long long sum = 0;
    int size = 0;
    for (int i = 0; i < p; i++)
        sum += counts[i];
    return sum > 0 && PMPI_Type_size(type, &size) == MPI_SUCCESS ? sum * size : 0;
}

/* Where ranks may send different amounts, what this rank knows of them: the root of Gatherv and
 * Scatterv all, another one its own, as if all were like it; of Alltoallv what it receives. */
static long long local_bytes(const struct pl_call *call, const struct pl_place *place)
{
    const bool root = call->root == place->rank;
    switch (call->function) {
    case PL_FN_gatherv:
        return root ? vector_bytes(call->recvcounts, place->p, call->recvtype)
                    : vector_bytes(&call->sendcount, 1, call->sendtype) * place->p;
    case PL_FN_scatterv:
        return root ? vector_bytes(call->sendcounts, place->p, call->sendtype)
                    : vector_bytes(&call->recvcount, 1, call->recvtype) * place->p;
    default:
        return vector_bytes(call->recvcounts, place->p, call->recvtype);
    }
}

static long long bytes_of(const struct pl_call *call, const struct pl_place *place)
{
    if (place->inter || !pl_legal(call, place))
        return PL_NO_VOLUME;
    const long long bytes = pl_volume_on(call, place->p, place->rank);
    return bytes == PL_LOCAL_VOLUME ? local_bytes(call, place) : bytes;
}

static void count(const struct pl_call *call, const struct pl_place *place, int64_t start,
                  int64_t end)
{
    struct entry key = {.bytes = bytes_of(call, place),
                        .fastest_ns = INT64_MAX,
                        .function = (int32_t)call->function,
                        .nprocs = place->p,
                        .nodes = place->nodes,
                        .ppn = place->ppn};
    if (pl_state.threads)
        pthread_mutex_lock(&book.lock);
    struct entry *entry = book.header ? entry_of(&key) : NULL;
    if (entry) {
        entry->ns += end - start;
        if (end - start < entry->fastest_ns)
            entry->fastest_ns = end - start;
        entry->calls++;
    } else if (book.header) {
        book.header->lost++;
    }
    if (book.header)
        book.header->elapsed_ns = end - book.started;
    if (pl_state.threads)
        pthread_mutex_unlock(&book.lock);
}

/* Collective, in the first call of all ranks on a communicator; another job may record nothing. */
static int locate(MPI_Comm comm, struct pl_place *place)
{
    const struct pl_nodes *nodes;
    place->located = true;
    if (place->inter || place->foreign)
        return MPI_SUCCESS;
    const int rc = pl_nodes(comm, &nodes);
    if (rc == MPI_SUCCESS) {
        place->nodes = nodes->count;
        place->ppn = nodes->most_ppn;
    }
    return rc == PL_LEFT ? MPI_SUCCESS : rc;
}

int pl_record(const struct pl_call *call)
{
    struct pl_place *place = pl_last_place(call->comm);
    int rc = MPI_SUCCESS;
    if (call->comm == MPI_COMM_NULL)
        return pl_decide(call);
    if (!place)
        PL_TRY(pl_place_of(call->comm, call->function, &place));
    if (!place->located)
        PL_TRY(locate(call->comm, place));
    const int64_t start = now();
    rc = pl_decide(call);
    count(call, place, start, now());
out:
    return rc;
}

bool pl_calls_open(const char *folder, long long job)
{
    struct header header = {.magic = {'P', 'L', 'C', 'A', 'L', 'L', 'S', '1'},
                            .one = 1,
                            .header_bytes = sizeof header,
                            .entry_bytes = sizeof(struct entry),
                            .capacity = FIRST_CAPACITY,
                            .functions = PL_FUNCTION_COUNT,
                            .job = job};
    char version[MPI_MAX_LIBRARY_VERSION_STRING], host[MPI_MAX_PROCESSOR_NAME];
    int length;
    PMPI_Comm_rank(MPI_COMM_WORLD, &header.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &header.nprocs);
    PMPI_Get_library_version(version, &length);
    PMPI_Get_processor_name(host, &length);
    snprintf(header.library, sizeof header.library, "%.*s", (int)strcspn(version, "\n"), version);
    for (int f = 0; f < PL_FUNCTION_COUNT; f++)
        snprintf(header.names[f], NAME_BYTES, "%s", pl_function_name((enum pl_function)f));
    const int written = snprintf(book.path, sizeof book.path, "%s/%s-%ld-%d.calls", folder, host,
                                 (long)getpid(), header.rank);
    errno = ENAMETOOLONG;
    struct header *mapped = written < (int)sizeof book.path ? map(book.path, FIRST_CAPACITY) : NULL;
    if (!mapped) {
        fprintf(stderr, "plumbline: cannot write in %s: %s; no calls are recorded\n", folder,
                strerror(errno));
        return false;
    }
    *mapped = header;
    book.header = mapped;
    book.entries = (struct entry *)(mapped + 1);
    book.started = now();
    return true;
}

void pl_calls_close(bool finished)
{
    struct header *header = book.header;
    if (!header)
        return;
    pl_state.recording = false;
    book.header = NULL;
    if (finished) {
        header->elapsed_ns = now() - book.started;
        header->finished = 1;
        msync(header, length_of(header->capacity), MS_SYNC);
    } else {
        unlink(book.path);
    }
    munmap(header, length_of(header->capacity));
}
