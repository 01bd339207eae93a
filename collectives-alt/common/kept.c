/* The state that Plumbline keeps on a communicator: its size, scratch memory (scratch.c), a private
 * communicator (private.c), the ranks that share a node (nodes.c) and memory (shared.c), the
 * neighbours in its topology (neighbors.c), and in libplumbline.so the rules that can match there.
 *
 * All of the state hangs on one attribute, so it lives and dies with the communicator; a duplicate
 * starts without. Each thread remembers its last communicators, so most calls need not ask MPI for
 * the attribute. Collective calls on one communicator are serial by the standard, so no lock is
 * needed. */
#include "kept.h"

#include <pthread.h>
#include <stdlib.h>

PL_A_THREAD struct pl_seen pl_seen[PL_SEEN];
atomic_uint pl_generation = 1; /* not that of an empty entry */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int keyval = MPI_KEYVAL_INVALID;

/* MPI_COMM_WORLD loses its attributes inside MPI_Finalize, where no communicator can be freed. */
static int delete_kept(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)extra;
    struct pl_kept *kept = value;
    int rc = MPI_SUCCESS, finalized = 0;
    atomic_fetch_add_explicit(&pl_generation, 1, memory_order_release);
    PMPI_Finalized(&finalized);
    if (comm != MPI_COMM_WORLD && !finalized)
        rc = pl_kept_free_private(kept);
    pl_kept_free_scratch(kept);
    pl_kept_free_shared(kept);
    if (kept->rules)
        kept->free_rules(kept->rules);
    pl_kept_free_neighbors(kept);
    free(kept->nodes);
    free(kept);
    return rc;
}

static void make_keyval(void)
{
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_kept, &keyval, NULL);
}

static struct pl_kept *make_kept(MPI_Comm comm)
{
    int inter = 0;
    struct pl_kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->private_comm = MPI_COMM_NULL;
    kept->now = kept->levels;
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        PMPI_Comm_size(comm, &kept->p) != MPI_SUCCESS ||
        PMPI_Comm_rank(comm, &kept->rank) != MPI_SUCCESS ||
        PMPI_Comm_set_attr(comm, keyval, kept) != MPI_SUCCESS) {
        free(kept);
        return NULL;
    }
    kept->inter = inter;
    return kept;
}

struct pl_kept *pl_kept_find(MPI_Comm comm)
{
    struct pl_kept *kept = NULL;
    int found = 0;
    pthread_once(&once, make_keyval);
    if (PMPI_Comm_get_attr(comm, keyval, &kept, &found) != MPI_SUCCESS)
        return NULL;
    if (!found)
        kept = make_kept(comm);
    const unsigned now = atomic_load_explicit(&pl_generation, memory_order_acquire);
    if (kept)
        *pl_seen_place(comm) = (struct pl_seen){.comm = comm, .generation = now, .kept = kept};
    return kept;
}

void pl_kept_forget(MPI_Comm comm)
{
    struct pl_kept *kept = NULL;
    int found = 0;
    if (keyval == MPI_KEYVAL_INVALID ||
        PMPI_Comm_get_attr(comm, keyval, &kept, &found) != MPI_SUCCESS || !found)
        return;
    pl_kept_free_private(kept);
    PMPI_Comm_delete_attr(comm, keyval);
}
