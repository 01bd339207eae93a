/* Memory that the ranks of a node share, and the steps of collectives that pass data through it.
 *
 * Source: Li, Hoefler, Hu, Snir, "Improved MPI collectives for MPI processes in shared address
 * spaces", Cluster Computing 17, 2014; Graham, Shipman, "MPI support for multi-core architectures:
 * optimized shared memory collectives", EuroPVM/MPI 2008.
 *
 * Each rank has a part that only it writes: two counters, each on a cache line of its own, and
 * three rings. A collective is a sequence of steps, the same on all ranks. In a step some ranks
 * write up to PL_STEP_BYTES where the rings go on, and others read this in place. Small amounts
 * stand beside their step's number on a pair of cache lines, the ring of short steps stays in a
 * core's caches, and the ring of long steps is longer than a core's cache of level 2.
 *
 * A rank may run ahead of slow readers by seven eighths of a ring: only where a ring enters its
 * next eighth, a writer waits until all have read what stood there. */
#ifndef PL_SHARED_H
#define PL_SHARED_H

#include "tools.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Has the core own a cache line before it writes there. Every x86-64 processor takes PREFETCHW, but
 * compilers make a read of the builtin unless they are told so. */
#if defined __x86_64__
#define PL_CLAIM(place) __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(place)))
#else
#define PL_CLAIM(place) __builtin_prefetch((const void *)(place), 1)
#endif

enum {
    PL_SEGMENTS = 8,           /* of a ring */
    PL_STEP_BYTES = 16384,     /* the most of a step */
    PL_LINE_BYTES = 112,       /* the most that stands beside a number; aligned for every type */
    PL_LINES = 256,            /* a ring of them */
    PL_FEW_BYTES = 512,        /* the most of a short step */
    PL_FEW_RING_BYTES = 65536, /* the ring of short steps */
    PL_RING_BYTES = 1048576,   /* the ring of long steps: PL_SEGMENTS segments of seven at least */
    PL_GAP_FEW = 128,          /* bytes after a short step */
    PL_GAP = 1152,             /* after a long one; it also keeps steps off the same cache sets */
};

struct pl_line {
    _Alignas(128) _Atomic uint64_t number;
    _Alignas(16) char bytes[PL_LINE_BYTES];
};

/* The part of one rank in the shared memory. */
struct pl_shared_part {
    _Alignas(
        128) _Atomic uint64_t written;   /* the last step that this rank has written, or a later */
    _Alignas(128) _Atomic uint64_t read; /* up to this step the rank has read all that it reads */
    _Alignas(128) unsigned char cores[128]; /* bits: those on which the rank may run */
    _Alignas(128) struct pl_line lines[PL_LINES];
    _Alignas(128) char few[PL_FEW_RING_BYTES];
    _Alignas(128) char ring[PL_RING_BYTES];
} __attribute__((aligned(4096)));

/* Where a ring goes on; equal on all ranks. */
struct pl_ring_state {
    size_t next;                /* the first free byte */
    int segment;                /* of the last step */
    uint64_t last[PL_SEGMENTS]; /* the last step that was in each segment */
};

/* Of the ranks of one node; their numbers here are their places in it. */
struct pl_shared {
    struct pl_shared_part *parts; /* of all ranks */
    size_t length;                /* bytes of all parts */
    int p, rank;
    bool is_whole; /* the node has all ranks of the communicator */
    bool crowded;  /* there are more ranks than cores for them */
    MPI_Comm comm;
    uint64_t number;   /* of the last step */
    uint64_t all_read; /* up to this step all ranks have read, as far as is known */
    struct pl_ring_state few, ring;
};

struct pl_shared_step {
    uint64_t number, must_be_read; /* the latter before this step is written */
    size_t at; /* the number of the line, or bytes from the beginning of the part */
    bool small;
};

/* The memory of this rank's node; NULL, on all ranks alike, where the ranks of some node cannot
 * share memory, or a process shares too much of it already. Made by the first call, which is
 * collective; kept on the communicator and freed with it. */
int pl_shared_made(const struct pl_call *call, struct pl_shared **shared);
static inline int pl_shared_of_node(const struct pl_call *call, struct pl_shared **shared)
{
    const struct pl_kept *kept = pl_kept_of(call);
    *shared = kept ? kept->shared : NULL;
    return *shared ? MPI_SUCCESS : pl_shared_made(call, shared);
}

/* That of all ranks; NULL where it is not made yet, or they are on several nodes. */
static inline struct pl_shared *pl_shared_of_all(const struct pl_call *call)
{
    const struct pl_kept *kept = pl_kept_of(call);
    struct pl_shared *shared = kept ? kept->shared : NULL;
    return shared && shared->is_whole ? shared : NULL;
}

/* The same; PL_LEFT where not all ranks are on one node that has it. */
static inline int pl_shared(const struct pl_call *call, struct pl_shared **shared)
{
    const int rc = pl_shared_of_node(call, shared);
    return rc != MPI_SUCCESS || (*shared && (*shared)->is_whole) ? rc : PL_LEFT;
}

/* Until a counter has come up to `number`; MPI makes progress meanwhile. */
void pl_shared_wait(const struct pl_shared *shared, const _Atomic uint64_t *counter,
                    uint64_t number);
static inline void pl_shared_await(const struct pl_shared *shared, const _Atomic uint64_t *counter,
                                   uint64_t number)
{
    if (atomic_load_explicit(counter, memory_order_acquire) < number)
        pl_shared_wait(shared, counter, number);
}

/* Waits until all ranks have read up to a step. */
void pl_shared_wait_for_readers(struct pl_shared *shared, uint64_t number);

/* The next place in a ring of `size` bytes for a step that takes `room` of them. */
static inline void pl_ring_next(struct pl_ring_state *ring, size_t size, size_t room,
                                struct pl_shared_step *step)
{
    const size_t segment_size = size / PL_SEGMENTS;
    size_t at = ring->next;
    int segment = (int)(at / segment_size);
    if (at + room > (size_t)(segment + 1) * segment_size) {
        segment = (segment + 1) % PL_SEGMENTS;
        at = (size_t)segment * segment_size;
    }
    if (segment != ring->segment) {
        ring->last[ring->segment] = step->number - 1;
        ring->segment = segment;
    }
    ring->next = (at + room) % size;
    step->at = at;
    step->must_be_read = ring->last[segment];
}

/* The room of a step, with a gap, so that no reader prefetches the next step. Steps are close
 * together: with a page for each, an Alltoall of 256 bytes took 1.0 to 2.0 times as long as Open
 * MPI's beside calls that send messages. Long steps begin at odd multiples of a line: a Bcast of
 * 8 KiB in steps that are aligned to pages took 1.7 times as long. */
static inline size_t pl_step_room(size_t bytes, size_t gap)
{
    return (bytes + 127) / 128 * 128 + gap;
}

/* Begins a step in which a rank writes up to `bytes`, equal on all ranks. */
static inline __attribute__((always_inline)) struct pl_shared_step
pl_step_begin(struct pl_shared *shared, size_t bytes)
{
    struct pl_shared_step step = {.number = ++shared->number};
    if (bytes <= PL_LINE_BYTES) {
        const uint64_t last = step.number | (PL_LINES / PL_SEGMENTS - 1);
        step.small = true;
        step.at = step.number % PL_LINES;
        step.must_be_read = last > PL_LINES ? last - PL_LINES : 0;
    } else if (bytes <= PL_FEW_BYTES) {
        pl_ring_next(&shared->few, PL_FEW_RING_BYTES, pl_step_room(bytes, PL_GAP_FEW), &step);
        step.at += offsetof(struct pl_shared_part, few);
    } else {
        pl_ring_next(&shared->ring, PL_RING_BYTES, pl_step_room(bytes, PL_GAP), &step);
        step.at += offsetof(struct pl_shared_part, ring);
    }
    return step;
}

static inline void *pl_step_place(const struct pl_shared *shared, const struct pl_shared_step *step,
                                  int rank)
{
    struct pl_shared_part *part = &shared->parts[rank];
    return step->small ? part->lines[step->at].bytes : (char *)part + step->at;
}

/* Where this rank may write now. */
static inline void *pl_step_own(struct pl_shared *shared, const struct pl_shared_step *step)
{
    if (shared->all_read < step->must_be_read)
        pl_shared_wait_for_readers(shared, step->must_be_read);
    return pl_step_place(shared, step, shared->rank);
}

/* What this rank has written is for all now. */
static inline void pl_step_publish(struct pl_shared *shared, const struct pl_shared_step *step)
{
    struct pl_shared_part *part = &shared->parts[shared->rank];
    _Atomic uint64_t *counter = step->small ? &part->lines[step->at].number : &part->written;
    atomic_store_explicit(counter, step->number, memory_order_release);
}

/* What the next step will write, if it is like this one: others have read what stood there. */
static inline void pl_step_claim(const struct pl_shared *shared, const struct pl_shared_step *step,
                                 size_t bytes)
{
    const struct pl_shared_part *part = &shared->parts[shared->rank];
    if (step->small) {
        const struct pl_line *line = &part->lines[(step->number + 1) % PL_LINES];
        PL_CLAIM(line);
        if (bytes > 64 - offsetof(struct pl_line, bytes))
            PL_CLAIM((const char *)line + 64);
    } else if (bytes <= PL_FEW_BYTES) {
        for (size_t at = 0; at < bytes; at += 64)
            PL_CLAIM(part->few + shared->few.next + at);
    }
}

static inline void pl_step_write(struct pl_shared *shared, const struct pl_shared_step *step,
                                 const void *from, size_t bytes)
{
    void *to = pl_step_own(shared, step);
    if (bytes > 0)
        memcpy(to, from, bytes);
    pl_step_publish(shared, step);
    pl_step_claim(shared, step, bytes);
}

/* What another rank, or this one, has written, which is waited for. */
static inline const void *pl_step_of(const struct pl_shared *shared,
                                     const struct pl_shared_step *step, int rank)
{
    struct pl_shared_part *part = &shared->parts[rank];
    pl_shared_await(shared, step->small ? &part->lines[step->at].number : &part->written,
                    step->number);
    return pl_step_place(shared, step, rank);
}

/* This rank reads nothing more of the step. */
static inline void pl_step_end(struct pl_shared *shared, const struct pl_shared_step *step)
{
    atomic_store_explicit(&shared->parts[shared->rank].read, step->number, memory_order_release);
}

/* Bodies of variants (shared_blocks.c, shared_operands.c). */
int pl_shared_barrier(const struct pl_call *call);
int pl_shared_bcast(const struct pl_call *call);
int pl_shared_gather(const struct pl_call *call);
int pl_shared_scatter(const struct pl_call *call);
int pl_shared_allgather(const struct pl_call *call);
int pl_shared_alltoall(const struct pl_call *call);
/* Allreduce, Reduce, Scan and Exscan; Reduce_scatter and Reduce_scatter_block. */
int pl_shared_reduce(const struct pl_call *call);
int pl_shared_reduce_scatter(const struct pl_call *call);

#endif
