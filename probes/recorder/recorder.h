/* What the parts of librecorder.so share. It stands in front of the MPI library by LD_PRELOAD and
 * writes down what an application sends and receives; nothing is changed, and nothing is printed
 * unless it cannot record. Inner calls are PMPI_. */
#ifndef PL_RECORDER_H
#define PL_RECORDER_H

#include "event.h"
#include "hash.h"

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#define PL_BEGINS(name) PL_BEGINS_##name,
enum pl_begins {
#include "functions.def"
    PL_BEGINS_COUNT
};
#undef PL_BEGINS

#define EXPORT __attribute__((visibility("default")))

/* Partitioned messages, exchanges with a request, persistent collectives; functions with MPI_Count.
 */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define PL_PARTITIONS
#endif
#if MPI_VERSION >= 4
#define PL_LARGE_COUNTS
#endif

static inline int64_t pl_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

/* --- the file (book.c) --- */

struct pl_book {
    struct pl_record_header *header; /* NULL: nothing is recorded */
    struct pl_slot *slots;
    bool threads; /* MPI_THREAD_MULTIPLE: calls may come at the same time */
};
extern struct pl_book pl_book;

static inline bool pl_recording(void)
{
    return pl_book.header != NULL;
}

/* Creates this rank's file in `folder`, of at most `limit` bytes; false with a message. */
bool pl_open(const char *folder, int64_t limit, int64_t job);
void pl_close(void);

/* The next slot; NULL where there is no room: then no later one has room either. */
struct pl_slot *pl_take(void);
/* The pieces of something that events refer to. */
void pl_write_pieces(enum pl_table table, int32_t id, int32_t number, const void *data,
                     size_t bytes);

/* --- call sites (sites.c) --- */

/* The number of the call stack above the frame whose return address lies at `place`; -1: none. */
int32_t pl_site_of(const void *const *place);
#define PL_SITE pl_site_of((const void *const *)__builtin_frame_address(0) + 1)
void pl_sites_begin(void);

/* --- communicators (communicators.c) --- */

struct pl_member {
    int32_t id, rank, size, remote_size; /* remote_size 0: no inter-communicator */
};
/* NULL where there is no room for it. */
const struct pl_member *pl_member_of(MPI_Comm comm);
void pl_communicators_begin(void);
/* Numbers a new communicator: by all its ranks in the same order. */
void pl_made(MPI_Comm comm);

/* --- types (types.c) --- */

struct pl_datatype {
    int64_t size, extent, true_lb, true_extent; /* bytes */
    bool dense; /* elements lie in memory as they are packed, one behind the other */
    bool named; /* predefined: never freed */
    uint8_t element;
    uint64_t signature, step; /* of one element; of the polynomial behind it */
    int64_t basic;            /* basic elements, where they are all of one kind; else 0 */
};
const struct pl_datatype *pl_type_of(MPI_Datatype type);
void pl_types_begin(void);
uint64_t pl_signature(const struct pl_datatype *type, int64_t count);

/* --- contents (content.c) --- */

/* Elements in memory: `count` from `buffer`; or, with `blocks` of them, one block a rank: `count`
 * each, behind each other, or counts[i] at displs[i]. */
struct pl_data {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
    int blocks; /* 0: no blocks */
    bool large; /* counts are MPI_Count, displacements MPI_Aint; else both are int */
    const void *counts, *displs;
};
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t) && sizeof(MPI_Aint) == sizeof(int64_t),
               "pl_number_at reads both");

static inline int64_t pl_number_at(const void *numbers, int at, bool large)
{
    int64_t wide;
    if (!large)
        return ((const int *)numbers)[at];
    memcpy(&wide, (const char *)numbers + (size_t)at * sizeof wide, sizeof wide);
    return wide;
}

/* Writes where the data lie and of which type they are, as if all were there. */
void pl_describe(struct pl_slot *slot, const struct pl_data *data);
/* Writes the hashes of the first `bytes` packed bytes; the slot is described. */
void pl_look_at(struct pl_slot *slot, const struct pl_data *data, int64_t bytes);
/* Both, of all. */
void pl_whole(struct pl_slot *slot, const struct pl_data *data);

/* --- events (events.c) --- */

/* What a call begins, and what is known before it. */
struct pl_what {
    enum pl_kind kind;
    enum pl_mode mode;
    uint32_t flags;
    enum pl_begins function;
    int peer, tag;
    MPI_Comm comm;
    int32_t site;
    const struct pl_member *member; /* of `comm`, where it may be gone; NULL: to be looked up */
};
/* A slot with what is known before the call, but for its data and times; NULL: not recorded. */
struct pl_slot *pl_begin(const struct pl_what *what);
/* Now it may be read: it has begun. */
void pl_post(struct pl_slot *slot, enum pl_kind kind);
/* A blocking call (`start` 0), or one that completed what was begun, has returned at `end`. */
void pl_end(struct pl_slot *slot, int64_t start, int64_t end, int rc);
/* What a receive got: source, tag, bytes and content. `data`: what there was room for. */
void pl_received(struct pl_slot *slot, const struct pl_data *data, const MPI_Status *status);

/* A send, described and looked at, and posted; NULL: not recorded. */
struct pl_slot *pl_send(const struct pl_what *what, const struct pl_data *data);
/* The same of a receive, whose content is yet to come. */
struct pl_slot *pl_receive(const struct pl_what *what, const struct pl_data *data);

/* --- requests (requests.c) --- */

struct pl_pending {
    uintptr_t key;
    struct pl_pending *next, *later, *last; /* requests.c */
    struct pl_slot *slot, *other;           /* other: that ends at the same time */
    struct pl_what what;                    /* of a persistent one: what MPI_Start begins */
    struct pl_data data;              /* of what is received; of a persistent send, what is sent */
    struct pl_persistent *collective; /* persistent, and no message; else NULL */
    bool receives, persistent, active, cancels, own_type;
    bool whole; /* all of `data` is looked at when it is complete, whatever the status says */
};

/* Keys of handles: a pointer or an integer. */
#define PL_KEY(handle) ((uintptr_t)(handle))

void pl_remember(MPI_Request request, const struct pl_pending *pending);
/* The first with this handle; NULL: nothing is known. It stays where it is. */
struct pl_pending *pl_remembered(MPI_Request request);
/* Completed by the call that was entered at `start`. */
void pl_completed(MPI_Request was, const MPI_Status *status, int64_t start, int64_t end, int rc);
void pl_freed(MPI_Request was);
void pl_started(MPI_Request request, int32_t site);

/* Communicators of messages that were found by MPI_Mprobe. */
void pl_probed(MPI_Message message, MPI_Comm comm, uint32_t flags);
bool pl_probed_on(MPI_Message message, MPI_Comm *comm, uint32_t *flags);

/* --- clocks (clock.c) --- */

void pl_compare_clocks(MPI_Comm comm, struct pl_clock_offset *offset);

#endif
