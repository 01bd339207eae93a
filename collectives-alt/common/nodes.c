/* Which ranks of a communicator share a node. No communicator is kept: hierarchical variants send
 * their messages on the private one. */
#include "tools.h"

#include <stdlib.h>

/* The rank that comes first on this node; -1: no communicator could be made. */
static int find_first(MPI_Comm comm, int rank, int *first)
{
    int rc;
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Errhandler handler;
    *first = rank;
    PL_TRY(pl_quiet(comm, &handler));
    rc = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    rc = pl_loud(comm, &handler, rc);
    if (rc == PL_LEFT) {
        *first = -1;
        return MPI_SUCCESS;
    }
    if (rc != MPI_SUCCESS)
        goto out;
    PL_TRY(pl_raise(comm, PMPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN)));
    PL_TRY(pl_raise(comm, PMPI_Bcast(first, 1, MPI_INT, 0, node)));
out:
    if (node != MPI_COMM_NULL)
        PMPI_Comm_free(&node);
    return rc;
}

/* Fills the tables; node_of has the first rank of each rank's node. */
static void number_nodes(struct pl_nodes *nodes, int p, int *node_of, int *members, int *first)
{
    nodes->count = 0;
    for (int rank = 0; rank < p; rank++) { /* a node's first rank has the number already */
        const bool new = node_of[rank] == rank;
        node_of[rank] = new ? nodes->count : node_of[node_of[rank]];
        if (new)
            first[nodes->count++] = 0;
        first[node_of[rank]]++;
    }
    nodes->least_ppn = nodes->most_ppn = first[0];
    for (int node = 1; node < nodes->count; node++) {
        const int ppn = first[node];
        nodes->least_ppn = ppn < nodes->least_ppn ? ppn : nodes->least_ppn;
        nodes->most_ppn = ppn > nodes->most_ppn ? ppn : nodes->most_ppn;
        first[node] += first[node - 1]; /* where the node ends, until its ranks are in */
    }
    first[nodes->count] = p;
    nodes->consecutive = true;
    for (int rank = p - 1; rank >= 0; rank--) {
        const int place = --first[node_of[rank]];
        members[place] = rank;
        nodes->consecutive = nodes->consecutive && place == rank;
    }
    nodes->in_order = nodes->consecutive && nodes->least_ppn == nodes->most_ppn;
}

int pl_nodes(MPI_Comm comm, const struct pl_nodes **nodes)
{
    int rc = MPI_SUCCESS, first;
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    if (!kept->nodes) {
        const int p = kept->p;
        struct pl_nodes *made = malloc(sizeof *made + (3 * (size_t)p + 1) * sizeof(int));
        if (!made)
            return pl_raise(comm, MPI_ERR_NO_MEM);
        int *tables = (int *)(made + 1);
        rc = find_first(comm, kept->rank, &first);
        if (rc == MPI_SUCCESS)
            rc = PMPI_Allgather(&first, 1, MPI_INT, tables, 1, MPI_INT, comm);
        for (int other = 0; rc == MPI_SUCCESS && other < p; other++)
            if (tables[other] < 0)
                rc = PL_LEFT;
        if (rc != MPI_SUCCESS) {
            free(made);
            return rc;
        }
        number_nodes(made, p, tables, tables + p, tables + 2 * p);
        made->node_of = tables;
        made->members = tables + p;
        made->first = tables + 2 * p;
        kept->nodes = made;
    }
    *nodes = kept->nodes;
    return rc;
}
