/* The state that Plumbline keeps on a communicator. */
#ifndef PL_KEPT_H
#define PL_KEPT_H

#include "variant.h"

#include <stdatomic.h>
#include <stdint.h>

struct pl_nodes;
struct pl_shared;
struct pl_neighbors;

/* Writes tables of an inner call, which depend on p, x and y alone (tools.h). */
typedef void pl_fill(int *counts, int *first, int p, int x, int y);

/* The blocks of the calls of one depth. */
struct pl_blocks {
    void *block[PL_SCRATCH_SLOTS];
    size_t size[PL_SCRATCH_SLOTS];
    /* blocks.c: the contents of PL_SLOT_TABLES */
    pl_fill *fill;
    int x, y;
};

struct pl_kept {
    int p, rank;
    bool inter;
    /* scratch memory */
    struct pl_blocks levels[PL_DEPTH];
    struct pl_blocks *now;          /* of these: that of the call under way */
    struct pl_kept *before, *after; /* in the order of calls; NULL without blocks */
    atomic_bool in_call;
    size_t held; /* the sum of size, in all levels */
    MPI_Comm private_comm;
    bool left; /* it gets no private communicator */
    /* nodes.c */
    struct pl_nodes *nodes; /* NULL: not looked at yet */
    /* shared.c */
    struct pl_shared *shared;
    bool shares_nothing; /* no memory can be shared here */
    /* neighbors.c */
    struct pl_neighbors *neighbors; /* NULL: not looked at yet */
    void *rules;                    /* libplumbline.so: the rules that can match here */
    /* Each frees its part when the communicator goes; set with that part. */
    void (*free_shared)(struct pl_shared *shared);
    void (*free_neighbors)(struct pl_neighbors *neighbors);
    void (*free_rules)(void *rules);
};

/* Communicators of this thread's last calls. An entry of another generation is stale: since then a
 * communicator was freed, and its handle may belong to another one now. */
struct pl_seen {
    MPI_Comm comm;
    struct pl_kept *kept;
    unsigned generation;
} __attribute__((aligned(32))); /* so that an address is found by shifts alone */
enum { PL_SEEN = 4 };
extern PL_A_THREAD struct pl_seen pl_seen[PL_SEEN];
extern atomic_uint pl_generation;

/* A handle is an int or a pointer to a structure of a hundred bytes or more. */
static inline struct pl_seen *pl_seen_place(MPI_Comm comm)
{
    const uintptr_t handle = (uintptr_t)comm;
    return &pl_seen[(handle ^ handle >> 4 ^ handle >> 9) % PL_SEEN];
}

/* NULL where MPI must be asked. */
static inline struct pl_kept *pl_seen_on(MPI_Comm comm)
{
    const struct pl_seen *seen = pl_seen_place(comm);
    const unsigned now = atomic_load_explicit(&pl_generation, memory_order_acquire);
    return seen->generation == now && seen->comm == comm ? seen->kept : NULL;
}

/* The state on a communicator, made by the first call; NULL when memory is short. */
struct pl_kept *pl_kept_find(MPI_Comm comm);

static inline struct pl_kept *pl_kept_on(MPI_Comm comm)
{
    struct pl_kept *kept = pl_seen_on(comm);
    return kept ? kept : pl_kept_find(comm);
}

/* Scratch memory of this process. Communicators that keep blocks are in a ring: behind its head the
 * one called last, before it the one that was not called for longest. */
struct pl_scratch_state {
    size_t held, most;
    bool threads; /* calls may come at the same time */
    struct pl_kept head;
};
extern struct pl_scratch_state pl_scratch_state;

/* Around a call of a variant where there is a limit. `bound`: pl_scratch_bound, within the limit;
 * what would not fit beside it is given back. */
void pl_scratch_make_room(struct pl_kept *kept, size_t bound);
static inline void pl_scratch_begin(struct pl_kept *kept, size_t bound)
{
    const struct pl_scratch_state *state = &pl_scratch_state;
    if (state->threads || kept->held > state->most - bound ||
        (kept->after && state->head.after != kept))
        pl_scratch_make_room(kept, bound);
}
static inline void pl_scratch_end(struct pl_kept *kept)
{
    if (pl_scratch_state.threads)
        atomic_store_explicit(&kept->in_call, false, memory_order_release);
}

/* Behind a call inside one that uses the blocks `around` it, and whether that `takes_memory`. */
void pl_scratch_leave(struct pl_kept *kept, struct pl_blocks *around, bool takes_memory);

/* Around what makes a communicator out of comm, with its outcome. In libplumbline.so no error gets
 * to the application: pl_loud returns PL_LEFT for one. */
int pl_quiet(MPI_Comm comm, MPI_Errhandler *handler);
int pl_loud(MPI_Comm comm, MPI_Errhandler *handler, int outcome);

#endif
