/* The record of an application's calls: how many and how long, by function, communicator, volume,
 * class of datatype and count shape; and when some calls began, to tell how far apart ranks enter.
 * What is sent is not looked at.
 *
 * The ranks of a node share a file in the folder that PLUMBLINE_CALLS names, mapped into memory:
 * what is counted is in the file, whatever becomes of the process, and nothing is left to do at the
 * end. It is a `struct file`, then a slot for each rank: a `struct header` and the entries it uses,
 * as tuner/plumbline/results/profiling.py reads it. A slot has room for all entries there may be;
 * disk it takes as they come. */
#include "classes.h"
#include "neighbors.h"
#include "preload.h"

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

enum { FIRST_ENTRIES = 256, MOST_ENTRIES = 65536, NAME_BYTES = 32, LIBRARY_BYTES = 256 };
enum { PAGE = 65536 }; /* no machine has larger ones */

struct key {
    int64_t bytes; /* PL_NO_VOLUME: not known */
    int32_t function, nprocs;
    int32_t nodes, ppn;  /* 0: not known */
    int32_t type, shape; /* type_of, enum shape; 0: not known */
};

enum { SAMPLES = 8 };
struct entry {
    struct key key;
    int64_t calls; /* 0: written a moment later */
    int64_t ns, fastest_ns;
    int64_t following; /* calls that began sooner behind another collective than the fastest took */
    int64_t number[SAMPLES], began_ns[SAMPLES]; /* of some calls, the same ones on all ranks */
};

/* The count shapes of plans (probes/measure/shape.h), as far as counts are like one. */
enum shape { NO_SHAPE, EQUAL, LINEAR, LAST, HALF };

struct file {
    char magic[8];
    uint32_t one, slot_bytes; /* one: in the order of bytes here */
    atomic_uint slots;        /* taken */
};

struct header {
    uint32_t header_bytes, entry_bytes, used, present; /* present: 1, where a rank has begun */
    int32_t rank, nprocs, functions, finished;
    int64_t job; /* equal on all ranks of MPI_COMM_WORLD */
    int64_t elapsed_ns;
    int64_t lost; /* calls that no entry could be found for */
    char library[LIBRARY_BYTES];
    char names[PL_FUNCTION_COUNT][NAME_BYTES];
};

enum {
    SLOT = (sizeof(struct header) + MOST_ENTRIES * sizeof(struct entry) + PAGE - 1) / PAGE * PAGE
};

static struct {
    struct header *header;  /* NULL: nothing is recorded */
    struct entry *entries;  /* behind it */
    uint32_t room;          /* entries that there is disk for */
    uint32_t *index;        /* open addressing: the number of an entry + 1; 0: free */
    int64_t started, ended; /* ended: the last call */
    struct {
        MPI_Datatype type;
        int32_t kind;
    } types[PL_FUNCTION_COUNT]; /* the last predefined one of each function; kind 0: none */
    char path[PATH_MAX];
    int file;
    off_t at;                              /* of the slot */
    struct entry *last[PL_FUNCTION_COUNT]; /* of the last call of each function */
    pthread_mutex_t lock;
} book = {.lock = PTHREAD_MUTEX_INITIALIZER};

int64_t pl_calls_now(void)
{
#ifdef SMPI_H /* the time of the simulated machine */
    return (int64_t)(PMPI_Wtime() * 1e9);
#else
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
#endif
}

/* Disk for so many entries: where it is full that is an error here, and no signal later. */
static bool reserve(uint32_t entries)
{
    const size_t length = sizeof(struct header) + entries * sizeof(struct entry);
    errno = posix_fallocate(book.file, book.at, (off_t)length);
    book.room = errno == 0 ? entries : book.room;
    return errno == 0;
}

static bool same(const struct key *left, const struct key *right)
{
    return left->function == right->function && left->bytes == right->bytes &&
           left->nprocs == right->nprocs && left->nodes == right->nodes &&
           left->ppn == right->ppn && left->type == right->type && left->shape == right->shape;
}

enum { PLACES = 2 * MOST_ENTRIES };

/* Where the number of this key's entry is, or is to be. */
static uint32_t *find(const struct key *key)
{
    uint64_t hash = (uint64_t)key->bytes * 31 + (uint64_t)key->function;
    hash = (hash * 31 + (uint64_t)key->nprocs) * 31 + (uint64_t)key->nodes;
    hash = (hash * 31 + (uint64_t)key->type) * 31 + (uint64_t)key->shape;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> 40) % PLACES;
    while (book.index[at] > 0 && !same(&book.entries[book.index[at] - 1].key, key))
        at = (at + 1) % PLACES;
    return &book.index[at];
}

/* Volumes past three quarters of what there is room for are counted as not known: what is left of
 * it has room for these. NULL: it has not. */
static struct entry *entry_of(struct key *key)
{
    const uint32_t used = book.header->used;
    struct entry *last = book.last[key->function];
    if (last && same(&last->key, key))
        return last;
    uint32_t *place = find(key);
    if (*place == 0 && 4 * (uint64_t)used >= 3 * (uint64_t)book.room &&
        (2 * book.room > MOST_ENTRIES || !reserve(2 * book.room))) {
        key->bytes = PL_NO_VOLUME;
        place = find(key);
    }
    if (*place > 0)
        return book.last[key->function] = &book.entries[*place - 1];
    if (used == book.room)
        return NULL;
    book.entries[used] = (struct entry){.key = *key, .fastest_ns = INT64_MAX};
    *place = book.header->used = used + 1;
    return &book.entries[used];
}

static long long vector_bytes(const int *counts, int p, MPI_Datatype type)
{
    long long sum = 0;
    int size = 0;
    for (int i = 0; i < p; i++)
        sum += counts[i];
    return sum > 0 && PMPI_Type_size(type, &size) == MPI_SUCCESS ? sum * size : 0;
}

static long long typed_bytes(const int *counts, int p, const MPI_Datatype *types)
{
    long long sum = 0;
    for (int i = 0; i < p; i++)
        sum += vector_bytes(&counts[i], 1, types[i]);
    return sum;
}

/* Where ranks may send different amounts, what this rank knows of them: the root of Gatherv and
 * Scatterv all, another one its own, as if all were like it; of Alltoallv, Alltoallw and of
 * neighbours what it receives. */
static long long local_bytes(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    const bool root = call->root == comm_state->rank;
    int in = 0, out;
    if (pl_has_neighbors(call->function)) {
        pl_degrees(call->comm, &in, &out);
        return call->recvcounts ? vector_bytes(call->recvcounts, in, call->recvtype)
                                : vector_bytes(&call->recvcount, 1, call->recvtype) * in;
    }
    switch (call->function) {
    case PL_FN_alltoallw:
        return typed_bytes(call->recvcounts, comm_state->p, call->recvtypes);
    case PL_FN_gatherv:
        return root ? vector_bytes(call->recvcounts, comm_state->p, call->recvtype)
                    : vector_bytes(&call->sendcount, 1, call->sendtype) * comm_state->p;
    case PL_FN_scatterv:
        return root ? vector_bytes(call->sendcounts, comm_state->p, call->sendtype)
                    : vector_bytes(&call->recvcount, 1, call->recvtype) * comm_state->p;
    default:
        return vector_bytes(call->recvcounts, comm_state->p, call->recvtype);
    }
}

static long long bytes_of(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    if (comm_state->inter || !pl_legal(call, comm_state))
        return PL_NO_VOLUME;
    const long long bytes = pl_volume_on(call, comm_state->p, comm_state->rank);
    return bytes == PL_LOCAL_VOLUME ? local_bytes(call, comm_state) : bytes;
}

/* The kind of a datatype (classes.h) and the bytes of an element: kind << 16 | bytes. Only what
 * nobody can free is remembered. */
static int32_t type_of(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    const bool root = call->root == comm_state->rank;
    const bool gathers = call->function == PL_FN_gather || call->function == PL_FN_gatherv;
    const bool scatters = call->function == PL_FN_scatter || call->function == PL_FN_scatterv;
    const bool sends = (gathers && !root) || (scatters && root);
    const MPI_Datatype type = sends ? call->sendtype : call->recvtype;
    int size = 0;
    if (call->function == PL_FN_barrier || call->function == PL_FN_alltoallw ||
        pl_has_neighbors(call->function))
        return 0;
    if (book.types[call->function].kind != 0 && book.types[call->function].type == type)
        return book.types[call->function].kind;
    const unsigned kind = pl_type_kind(type);
    PMPI_Type_size(type, &size);
    const int32_t known = (int32_t)(kind << 16) | (size < 1 << 16 ? size : 0);
    if (!pl_is_derived(kind)) {
        book.types[call->function].type = type;
        book.types[call->function].kind = known;
    }
    return known;
}

static enum shape shape_of(const int *counts, int p, int32_t type)
{
    long long sum = 0;
    int least = INT_MAX, most = 0, empty = 0;
    for (int i = 0; i < p; i++) {
        sum += counts[i];
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
        empty += counts[i] == 0;
    }
    if ((long long)(most - least) * (type & 0xffff) <= PL_EQUAL_WITHIN)
        return EQUAL;
    if (4 * (long long)most >= 3 * sum)
        return LAST;
    return 3 * empty >= p ? HALF : LINEAR;
}

/* What this rank knows of it: of Gatherv and Scatterv the root alone. */
static enum shape shape_on(const struct pl_call *call, const struct pl_comm_state *comm_state,
                           int32_t type)
{
    const bool root = call->root == comm_state->rank;
    const int *counts = NULL;
    if (call->function == PL_FN_allgatherv || call->function == PL_FN_reduce_scatter ||
        (call->function == PL_FN_gatherv && root))
        counts = call->recvcounts;
    if (call->function == PL_FN_alltoallv || (call->function == PL_FN_scatterv && root))
        counts = call->sendbuf == MPI_IN_PLACE ? call->recvcounts : call->sendcounts;
    return counts ? shape_of(counts, comm_state->p, type) : NO_SHAPE;
}

/* All calls are as likely to be among the samples; which ones are follows from their number. */
static void sample(struct entry *entry, int64_t start)
{
    const uint64_t number = (uint64_t)entry->calls;
    uint64_t place = number - 1;
    if (number > SAMPLES)
        place = (number * UINT64_C(0x9e3779b97f4a7c15) >> 32) * (number & UINT32_MAX) >> 32;
    if (place < SAMPLES) {
        entry->number[place] = (int64_t)number;
        entry->began_ns[place] = start;
    }
}

int pl_calls_locate(MPI_Comm comm, struct pl_comm_state *comm_state)
{
    const struct pl_nodes *nodes;
    if (comm_state->located || comm_state->inter || comm_state->foreign)
        return MPI_SUCCESS;
    comm_state->located = true;
    const int rc = pl_nodes(comm, &nodes);
    if (rc == MPI_SUCCESS) {
        comm_state->nodes = nodes->count;
        comm_state->ppn = nodes->most_ppn;
    }
    return rc == PL_LEFT ? MPI_SUCCESS : rc;
}

void pl_calls_count(const struct pl_call *call, const struct pl_comm_state *comm_state,
                    int64_t start)
{
    const int64_t end = pl_calls_now();
    struct key key = {.bytes = bytes_of(call, comm_state),
                      .function = (int32_t)call->function,
                      .nprocs = comm_state->p,
                      .nodes = comm_state->nodes,
                      .ppn = comm_state->ppn};
    if (pl_state.threads)
        pthread_mutex_lock(&book.lock);
    if (key.bytes >= 0) {
        key.type = type_of(call, comm_state);
        key.shape = shape_on(call, comm_state, key.type);
    }
    struct entry *entry = book.header ? entry_of(&key) : NULL;
    if (entry) {
        entry->ns += end - start;
        if (end - start < entry->fastest_ns)
            entry->fastest_ns = end - start;
        entry->calls++;
        entry->following += start - book.ended < entry->fastest_ns;
        sample(entry, start);
    } else if (book.header) {
        book.header->lost++;
    }
    if (book.header)
        book.header->elapsed_ns = end - book.started;
    book.ended = end;
    if (pl_state.threads)
        pthread_mutex_unlock(&book.lock);
}

/* One for all ranks that share this kernel: its name has the kernel's own. */
static bool name_file(const char *folder, long long job)
{
    char host[MPI_MAX_PROCESSOR_NAME], boot[9] = "";
    int length;
    PMPI_Get_processor_name(host, &length);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && !fgets(boot, sizeof boot, file))
        boot[0] = '\0';
    if (file)
        fclose(file);
    errno = ENAMETOOLONG;
    return snprintf(book.path, sizeof book.path, "%s/%s-%s-%llx.calls", folder, host, boot,
                    (unsigned long long)job) < (int)sizeof book.path;
}

/* The next slot: ranks of a node count in the file itself. */
static bool take_slot(void)
{
    struct file *head = MAP_FAILED;
    errno = posix_fallocate(book.file, 0, sizeof *head);
    if (errno == 0)
        head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, book.file, 0);
    if (head == MAP_FAILED)
        return false;
    head->one = 1;
    head->slot_bytes = SLOT;
    memcpy(head->magic, "PLCALLS3", sizeof head->magic);
    book.at = PAGE + (off_t)SLOT * atomic_fetch_add(&head->slots, 1);
    munmap(head, sizeof *head);
    return reserve(FIRST_ENTRIES);
}

/* NULL with errno. */
static struct header *map(const char *folder, long long job)
{
    struct header *mapped = MAP_FAILED;
    book.file = -1;
    book.index = calloc(PLACES, sizeof *book.index);
    if (book.index && name_file(folder, job))
        book.file = open(book.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (book.file >= 0 && take_slot())
        mapped = mmap(NULL, SLOT, PROT_READ | PROT_WRITE, MAP_SHARED, book.file, book.at);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void unmap(struct header *header)
{
    if (header)
        munmap(header, SLOT);
    if (book.file >= 0)
        close(book.file);
    free(book.index);
}

bool pl_calls_open(const char *folder, long long job)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    struct header *header = map(folder, job);
    if (!header) {
        fprintf(stderr, "plumbline: cannot write in %s: %s; no calls are recorded\n", folder,
                strerror(errno));
        unmap(NULL);
        return false;
    }
    *header = (struct header){.header_bytes = sizeof *header,
                              .entry_bytes = sizeof(struct entry),
                              .functions = PL_FUNCTION_COUNT,
                              .job = job};
    PMPI_Comm_rank(MPI_COMM_WORLD, &header->rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &header->nprocs);
    PMPI_Get_library_version(version, &length);
    snprintf(header->library, sizeof header->library, "%.*s", (int)strcspn(version, "\n"), version);
    for (int f = 0; f < PL_FUNCTION_COUNT; f++)
        snprintf(header->names[f], NAME_BYTES, "%s", pl_function_name((enum pl_function)f));
    header->present = 1;
    book.header = header;
    book.entries = (struct entry *)(header + 1);
    book.started = pl_calls_now();
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
        header->elapsed_ns = pl_calls_now() - book.started;
        header->finished = 1;
        msync(header, sizeof *header + header->used * sizeof(struct entry), MS_SYNC);
    } else {
        unlink(book.path);
    }
    unmap(header);
}
