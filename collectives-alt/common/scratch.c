/* What is kept on a communicator: scratch memory, a private communicator, and which ranks share a
 * node (nodes.c).
 *
 * All of it hangs on one attribute, so that they live and die with the communicator; a duplicate
 * starts without. Collective calls on one communicator are serial by the standard, so no lock is
 * needed.
 */
#include "kept.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = 64 };

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
    if (comm != MPI_COMM_WORLD && !finalized && kept->private_comm != MPI_COMM_NULL)
        rc = PMPI_Comm_free(&kept->private_comm);
    free(kept->node_tables);
    for (int slot = 0; slot < PL_SCRATCH_SLOTS; slot++)
        free(kept->block[slot]);
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
    if (kept->private_comm != MPI_COMM_NULL)
        PMPI_Comm_free(&kept->private_comm);
    PMPI_Comm_delete_attr(comm, keyval);
}

void *pl_scratch(MPI_Comm comm, int slot, size_t bytes)
{
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return NULL;
    if (kept->block[slot] && kept->size[slot] >= bytes)
        return kept->block[slot];
    size_t size = bytes / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    free(kept->block[slot]);
    kept->block[slot] = size > bytes ? aligned_alloc(ALIGNMENT, size) : NULL;
    kept->size[slot] = kept->block[slot] ? size : 0;
    return kept->block[slot];
}

size_t pl_scratch_kept(MPI_Comm comm)
{
    size_t sum = 0;
    const struct pl_kept *kept = pl_kept_on(comm);
    for (int slot = 0; kept && slot < PL_SCRATCH_SLOTS; slot++)
        sum += kept->size[slot];
    return sum;
}

void pl_scratch_release(MPI_Comm comm)
{
    struct pl_kept *kept = pl_kept_on(comm);
    for (int slot = 0; kept && slot < PL_SCRATCH_SLOTS; slot++) {
        free(kept->block[slot]);
        kept->block[slot] = NULL;
        kept->size[slot] = 0;
    }
}

/* A reduction keeps elements with their gaps, and may pad a vector to p equal blocks. */
size_t pl_scratch_bound(const struct pl_variant *variant, const struct pl_call *call,
                        long long volume, int p)
{
    size_t one = (size_t)volume + (size_t)p;
    int size = 0;
    MPI_Aint lb, extent, true_extent;
    if (pl_reduces(call->function) && PMPI_Type_size(call->recvtype, &size) == MPI_SUCCESS &&
        size > 0) {
        PMPI_Type_get_extent(call->recvtype, &lb, &extent);
        PMPI_Type_get_true_extent(call->recvtype, &lb, &true_extent);
        const long long elements = volume / size + p;
        if (__builtin_mul_overflow((size_t)elements, (size_t)(extent < 0 ? -extent : extent), &one))
            return SIZE_MAX;
        one += (size_t)true_extent;
    }
    const size_t words = 4096 + 256 * (size_t)p;
    if (__builtin_mul_overflow((size_t)variant->scratch_volumes, one, &one))
        return SIZE_MAX;
    return one < SIZE_MAX - words ? one + words : SIZE_MAX;
}

MPI_Request *pl_requests(MPI_Comm comm, int count)
{
    return pl_scratch(comm, PL_SLOT_REQUESTS, (size_t)count * sizeof(MPI_Request));
}

int pl_raise(MPI_Comm comm, int rc)
{
    if (rc != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, rc);
    return rc;
}

/* MPI_Comm_split, not MPI_Comm_dup: the attributes of the application are none of our business. */
int pl_private(MPI_Comm comm, MPI_Comm *private_comm)
{
    int rc = MPI_SUCCESS, rank;
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    if (kept->private_comm == MPI_COMM_NULL) {
        PL_TRY(PMPI_Comm_rank(comm, &rank));
        PL_TRY(PMPI_Comm_split(comm, 0, rank, &kept->private_comm));
        PL_TRY(PMPI_Comm_set_errhandler(kept->private_comm, MPI_ERRORS_RETURN));
    }
    *private_comm = kept->private_comm;
out:
    return rc;
}
