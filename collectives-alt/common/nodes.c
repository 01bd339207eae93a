/* Which ranks of a communicator share a node. */
#include "kept.h"

#include <stdlib.h>

/* By rank of `comm`: the number of its node, counted by the nodes' first ranks. */
static int number_nodes(struct pl_kept *kept, MPI_Comm comm, int p, int leader)
{
    int rc = MPI_SUCCESS, *of = kept->node_of, nodes = 0;
    PL_TRY(PMPI_Allgather(&leader, 1, MPI_INT, of, 1, MPI_INT, comm));
    int *sizes = calloc((size_t)p, sizeof *sizes);
    if (!sizes)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    for (int rank = 0; rank < p; rank++) { /* a leader is the first of its node */
        of[rank] = of[rank] == rank ? nodes++ : of[of[rank]];
        sizes[of[rank]]++;
    }
    kept->nodes.count = nodes;
    kept->nodes.least_ppn = kept->nodes.most_ppn = sizes[0];
    for (int node = 1; node < nodes; node++) {
        if (sizes[node] < kept->nodes.least_ppn)
            kept->nodes.least_ppn = sizes[node];
        if (sizes[node] > kept->nodes.most_ppn)
            kept->nodes.most_ppn = sizes[node];
    }
    kept->nodes.in_order = kept->nodes.least_ppn == kept->nodes.most_ppn;
    for (int rank = 0; rank < p && kept->nodes.in_order; rank++)
        kept->nodes.in_order = of[rank] == rank / kept->nodes.most_ppn;
    kept->nodes.node_of = of;
    free(sizes);
out:
    return rc;
}

static int look(struct pl_kept *kept, MPI_Comm comm)
{
    int rc, p, rank, leader, place;
    MPI_Comm node = MPI_COMM_NULL, leaders = MPI_COMM_NULL;
    PL_TRY(PMPI_Comm_size(comm, &p));
    PL_TRY(PMPI_Comm_rank(comm, &rank));
    kept->node_of = malloc((size_t)p * sizeof *kept->node_of);
    if (!kept->node_of)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    PL_TRY(PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
    PL_TRY(PMPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
    PL_TRY(PMPI_Comm_rank(node, &place));
    leader = rank;
    PL_TRY(pl_raise(comm, PMPI_Bcast(&leader, 1, MPI_INT, 0, node)));
    PL_TRY(PMPI_Comm_split(comm, place == 0 ? 0 : MPI_UNDEFINED, rank, &leaders));
    if (leaders != MPI_COMM_NULL)
        PL_TRY(PMPI_Comm_set_errhandler(leaders, MPI_ERRORS_RETURN));
    PL_TRY(number_nodes(kept, comm, p, leader));
    kept->nodes.node = node;
    kept->nodes.leaders = leaders;
    return MPI_SUCCESS;
out:
    if (leaders != MPI_COMM_NULL)
        PMPI_Comm_free(&leaders);
    if (node != MPI_COMM_NULL)
        PMPI_Comm_free(&node);
    free(kept->node_of);
    kept->node_of = NULL;
    return rc;
}

int pl_nodes(MPI_Comm comm, const struct pl_nodes **nodes)
{
    struct pl_kept *kept = pl_kept_on(comm);
    int rc = MPI_SUCCESS;
    if (!kept)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    if (kept->nodes.node == MPI_COMM_NULL)
        rc = look(kept, comm);
    *nodes = &kept->nodes;
    return rc;
}
