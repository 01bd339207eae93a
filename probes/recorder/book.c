/* The file of this rank: mapped into memory, so what is written is in it whatever becomes of the
 * process. Slots are taken in the order in which events begin. */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { AT_ONCE = 4096 }; /* slots that disk is asked for */

struct pl_book pl_book;

static struct {
    int file;
    size_t length;         /* of the mapping */
    _Atomic int64_t ready; /* slots that there is disk for */
    bool full;
    pthread_mutex_t lock;
} disk = {.file = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static size_t bytes_of(int64_t slots)
{
    return PL_FIRST_SLOT + (size_t)slots * sizeof(struct pl_slot);
}

/* Disk up to and with this slot: where it is full that is an error here, and no signal later. */
static bool reserve(int64_t slot)
{
    const int64_t limit = pl_book.header->limit;
    pthread_mutex_lock(&disk.lock);
    while (!disk.full && disk.ready <= slot) {
        const int64_t from = disk.ready, to = from + AT_ONCE < limit ? from + AT_ONCE : limit;
        const size_t at = bytes_of(from);
        disk.full =
            from == to || posix_fallocate(disk.file, (off_t)at, (off_t)(bytes_of(to) - at)) != 0;
        if (!disk.full)
            disk.ready = to;
    }
    pthread_mutex_unlock(&disk.lock);
    return slot < disk.ready;
}

static struct pl_slot *take(bool event)
{
    struct pl_record_header *header = pl_book.header;
    int64_t slot = atomic_load_explicit(&header->used, memory_order_relaxed);
    if (pl_book.threads)
        slot = atomic_fetch_add_explicit(&header->used, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&header->used, slot + 1, memory_order_relaxed);
    if (slot < atomic_load_explicit(&disk.ready, memory_order_relaxed) || reserve(slot))
        return &pl_book.slots[slot];
    atomic_fetch_add_explicit(&header->lost, event, memory_order_relaxed);
    return NULL;
}

struct pl_slot *pl_take(void)
{
    return take(true);
}

void pl_write_pieces(enum pl_table table, int32_t id, int32_t number, const void *data,
                     size_t bytes)
{
    for (size_t at = 0; at < bytes || at == 0; at += PL_PAYLOAD) {
        struct pl_slot *slot = take(false);
        if (!slot)
            return;
        slot->function = (uint16_t)table;
        slot->site = id;
        slot->tag = number;
        slot->extent = (int64_t)at;
        slot->bytes = (int64_t)bytes;
        memcpy(slot->payload, (const char *)data + at,
               bytes - at < PL_PAYLOAD ? bytes - at : PL_PAYLOAD);
        atomic_store_explicit(&slot->kind, PL_PIECE, memory_order_release);
    }
}

static void read_boot(char *boot, int room)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && fgets(boot, room, file))
        boot[strcspn(boot, "\n")] = '\0';
    if (file)
        fclose(file);
}

static void fill(struct pl_record_header *header, int64_t slots, int64_t job)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    *header = (struct pl_record_header){.one = 1,
                                        .header_bytes = sizeof *header,
                                        .slot_bytes = sizeof(struct pl_slot),
                                        .first_slot = PL_FIRST_SLOT,
                                        .functions = PL_BEGINS_COUNT,
                                        .job = job,
                                        .limit = slots,
                                        .begin = pl_now()};
    PMPI_Comm_rank(MPI_COMM_WORLD, &header->rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &header->nprocs);
    PMPI_Get_library_version(text, &length);
    snprintf(header->library, sizeof header->library, "%.*s", (int)strcspn(text, "\n"), text);
    PMPI_Get_processor_name(text, &length);
    snprintf(header->host, sizeof header->host, "%.*s", (int)sizeof header->host - 1, text);
    read_boot(header->boot, sizeof header->boot);
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        for (int i = 0; i < 64 * PL_CPU_WORDS; i++)
            header->cpus[i / 64] |= (uint64_t) !!CPU_ISSET(i, &cpus) << i % 64;
#define PL_BEGINS(name) snprintf(header->names[PL_BEGINS_##name], PL_NAME, "MPI_" #name);
#include "functions.def"
#undef PL_BEGINS
    memcpy(header->magic, "PLRECRD2", sizeof header->magic);
}

bool pl_open(const char *folder, int64_t limit, int64_t job)
{
    char path[PATH_MAX];
    int rank;
    void *mapped = MAP_FAILED;
    const int64_t slots = (limit - PL_FIRST_SLOT) / (int64_t)sizeof(struct pl_slot);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    errno = ENAMETOOLONG;
    if (snprintf(path, sizeof path, "%s/rank-%d.record", folder, rank) < (int)sizeof path)
        disk.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    disk.length = bytes_of(slots);
    if (disk.file >= 0 && ftruncate(disk.file, (off_t)disk.length) == 0 &&
        (errno = posix_fallocate(disk.file, 0, PL_FIRST_SLOT)) == 0)
        mapped = mmap(NULL, disk.length, PROT_READ | PROT_WRITE, MAP_SHARED, disk.file, 0);
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "plumbline: cannot write in %s: %s; nothing is recorded\n", folder,
                strerror(errno));
        return false;
    }
    fill(mapped, slots, job);
    pl_book.slots = (struct pl_slot *)((char *)mapped + PL_FIRST_SLOT);
    pl_book.header = mapped;
    return true;
}

void pl_close(void)
{
    struct pl_record_header *header = pl_book.header;
    if (!header)
        return;
    pl_book.header = NULL;
    const int64_t used = header->used < disk.ready ? header->used : disk.ready;
    header->end = pl_now();
    header->finished = 1;
    if (ftruncate(disk.file, (off_t)bytes_of(used)) != 0) {
        /* What is behind the last slot stays, and says nothing. */
    }
    msync(header, bytes_of(used), MS_ASYNC);
    close(disk.file);
}
