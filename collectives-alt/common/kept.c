/* What is kept on a communicator: scratch memory (scratch.c), a private communicator (private.c),
 * and which ranks share a node (nodes.c).
 *
 * All of it hangs on one attribute, so that they live and die with the communicator; a duplicate
 * starts without. Collective calls on one communicator are serial by the standard, so no lock is
 * needed.
 */
#include "kept.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int keyval = MPI_KEYVAL_INVALID;

/* MPI_COMM_WORLD loses its attributes inside MPI_Finalize, where no communicator can be freed. */
static int delete_kept(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)extra;
    struct pl_kept *kept = value;
    int rc = MPI_SUCCESS, finalized = 0;
    PMPI_Finalized(&finalized);
    if (comm != MPI_COMM_WORLD && !finalized)
        rc = pl_kept_free_private(kept);
    pl_kept_free_scratch(kept);
    free(kept->node_tables);
    free(kept);
    return rc;
}

static void make_keyval(void)
{
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_kept, &keyval, NULL);
}

struct pl_kept *pl_kept_on(MPI_Comm comm)
{
    struct pl_kept *kept = NULL;
    int found = 0;
    pthread_once(&once, make_keyval);
    if (PMPI_Comm_get_attr(comm, keyval, &kept, &found) != MPI_SUCCESS)
        return NULL;
    if (found)
        return kept;
    kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->private_comm = MPI_COMM_NULL;
    if (PMPI_Comm_set_attr(comm, keyval, kept) != MPI_SUCCESS) {
        free(kept);
        return NULL;
    }
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
