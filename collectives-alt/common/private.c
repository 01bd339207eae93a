/* Private communicators. Each takes a context id, of which a library has a limited number, so a
 * process makes no more of them than it may; ranks agree on that in the split that makes one. */
#include "tools.h"

#include <limits.h>
#include <stdatomic.h>

static struct {
    int most;
    atomic_int made;
} privates = {.most = INT_MAX};

void pl_private_limit(int most)
{
    privates.most = most;
}

int pl_private_made(void)
{
    return atomic_load(&privates.made);
}

/* Messages on a private communicator are those of the communicator it stands for. */
int pl_raise(MPI_Comm comm, int rc)
{
    if (rc != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, rc);
    return rc;
}

#if defined PL_PRELOAD && !defined SMPI_H
int pl_quiet(MPI_Comm comm, MPI_Errhandler *handler)
{
    int rc;
    PL_TRY(PMPI_Comm_get_errhandler(comm, handler));
    PL_TRY(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
out:
    return rc;
}

int pl_loud(MPI_Comm comm, MPI_Errhandler *handler, int outcome)
{
    int rc;
    PL_TRY(PMPI_Comm_set_errhandler(comm, *handler));
    PL_TRY(PMPI_Errhandler_free(handler));
    rc = outcome == MPI_SUCCESS ? MPI_SUCCESS : PL_LEFT;
out:
    return rc;
}
#else /* nobody else could do the call */
int pl_quiet(MPI_Comm comm, MPI_Errhandler *handler)
{
    (void)comm;
    (void)handler;
    return MPI_SUCCESS;
}

int pl_loud(MPI_Comm comm, MPI_Errhandler *handler, int outcome)
{
    (void)comm;
    (void)handler;
    return outcome;
}
#endif

/* MPI_Comm_split, not MPI_Comm_dup: the attributes of the application are none of our business.
 * Ranks that may make no more take no part: it is not whole then, and goes again. When context ids
 * are used up, a library says so on all ranks. */
static int make(MPI_Comm comm, bool may, MPI_Comm *made)
{
    int rc, rank, p, whole = 0;
    MPI_Errhandler handler;
    PL_TRY(PMPI_Comm_rank(comm, &rank));
    PL_TRY(PMPI_Comm_size(comm, &p));
    PL_TRY(pl_quiet(comm, &handler));
    rc = PMPI_Comm_split(comm, may ? 0 : MPI_UNDEFINED, rank, made);
    PL_TRY(pl_loud(comm, &handler, rc));
    if (*made == MPI_COMM_NULL)
        return PL_LEFT;
    PL_TRY(PMPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN));
    PL_TRY(PMPI_Comm_size(*made, &whole));
    if (whole < p) {
        PL_TRY(PMPI_Comm_free(made));
        return PL_LEFT;
    }
out:
    return rc;
}

static PL_NOT_INLINE int first_private(MPI_Comm comm, MPI_Comm *private_comm)
{
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    if (kept->private_comm == MPI_COMM_NULL) {
        if (kept->left)
            return PL_LEFT;
        const bool may = atomic_fetch_add(&privates.made, 1) < privates.most;
        const int rc = make(comm, may, &kept->private_comm);
        if (kept->private_comm == MPI_COMM_NULL)
            atomic_fetch_sub(&privates.made, 1);
        kept->left = rc == PL_LEFT;
        if (rc != MPI_SUCCESS)
            return rc;
    }
    *private_comm = kept->private_comm;
    return MPI_SUCCESS;
}

int pl_private(MPI_Comm comm, MPI_Comm *private_comm)
{
    const struct pl_kept *kept = pl_seen_on(comm);
    if (!kept || kept->private_comm == MPI_COMM_NULL)
        return first_private(comm, private_comm);
    *private_comm = kept->private_comm;
    return MPI_SUCCESS;
}

int pl_kept_free_private(struct pl_kept *kept)
{
    if (kept->private_comm == MPI_COMM_NULL)
        return MPI_SUCCESS;
    atomic_fetch_sub(&privates.made, 1);
    return PMPI_Comm_free(&kept->private_comm);
}
