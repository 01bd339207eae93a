/* MPI from start to end, and the probe's own point-to-point messages.
 *
 * Harness traffic never uses the library's collectives, so that what is measured is not also what
 * carries the results. It runs on a duplicate of MPI_COMM_WORLD of its own, whose errors are fatal:
 * ranks that cannot talk to each other cannot agree to stop either. */
#ifndef PL_WORLD_H
#define PL_WORLD_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct pl_world {
    int rank, size;
    int threads_asked, threads; /* MPI_THREAD_…: that the environment asks for, that there is */
    bool tools;                 /* MPI_T is up */
    MPI_Comm comm;              /* all of its ranks: MPI_COMM_WORLD, or some of it */
    MPI_Comm harness;           /* messages below */
    MPI_Comm sync;              /* start schemes */
    int64_t started_ns;
};

/* MPI_T (but with PLUMBLINE_MPI_T=none: Open MPI then opens components that MPI_Init does without,
 * which may take longer than all the rest) and MPI up, by MPI_Init_thread where PLUMBLINE_THREADS
 * is `funneled` or `multiple`, else by MPI_Init; errors on MPI_COMM_WORLD are returned. NULL, or
 * what is wrong with PLUMBLINE_THREADS, on all ranks: MPI is up then too. */
const char *pl_world_start(struct pl_world *world);
void pl_world_stop(struct pl_world *world);
/* The communicators that the probe itself uses among the ranks of `comm`. */
void pl_world_open(struct pl_world *world, MPI_Comm comm);
void pl_world_close(struct pl_world *world);
/* Since MPI_Init returned, or pl_world_restart was called. */
int64_t pl_world_elapsed_ns(const struct pl_world *world);
/* Begins a visit: the elapsed time is zero, and the communicator has no state of variants. */
void pl_world_restart(struct pl_world *world);
/* The `ranks` from `first` on, as a world of their own; collective among these alone. Of all ranks
 * it is the world itself. */
struct pl_world pl_world_part(const struct pl_world *world, int first, int ranks);
void pl_world_end_part(struct pl_world *part);

/* Rank 0's bytes to every rank: binomial tree, ⌈log2 p⌉ rounds. */
void pl_p2p_broadcast(const struct pl_world *world, void *buffer, int bytes);
/* Every rank's bytes to rank 0, in order of rank; `all` is used there only. p - 1 messages. */
void pl_p2p_gather(const struct pl_world *world, const void *mine, int bytes, void *all);
/* Bytes of one rank to rank 0, into the same buffer there; every rank may call it. */
void pl_p2p_fetch(const struct pl_world *world, int rank, void *buffer, int bytes);
/* Maximum over ranks of each of `count` values, left in rank 0's `values`: binomial tree, one
 * message a rank for every PL_P2P_CHUNK values. Other ranks' values are overwritten. */
void pl_p2p_maximum(const struct pl_world *world, int64_t *values, int count);
/* The same for sums. */
void pl_p2p_sum(const struct pl_world *world, int64_t *values, int count);
/* Rank 0's bytes to one other rank; these two ranks call it. */
void pl_p2p_hand(const struct pl_world *world, int rank, void *buffer, int bytes);
/* The largest of all ranks' values, on all ranks. */
int64_t pl_p2p_agree(const struct pl_world *world, int64_t value);
/* The shortest of some round trips of a byte between ranks 0 and 1, on rank 0; 0 on other ranks,
 * of one rank, and in a simulation. */
int64_t pl_p2p_trip_ns(const struct pl_world *world);
/* Dissemination barrier on the communicator of the start schemes: ⌈log2 p⌉ rounds. */
void pl_p2p_barrier(const struct pl_world *world);
/* Waits for `until_rank` to call pl_p2p_wake for this rank, and leaves the core to others
 * meanwhile: where a rank waits for messages it polls. */
void pl_p2p_sleep(const struct pl_world *world, int until_rank);
void pl_p2p_wake(const struct pl_world *world, int rank);
/* Returns whether `rank` has called pl_p2p_wake for this rank: once for each call. */
bool pl_p2p_is_called(const struct pl_world *world, int rank);

#define PL_P2P_CHUNK 1024

#endif
