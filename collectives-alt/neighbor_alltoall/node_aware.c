/* Neighbor_alltoall in three steps: the blocks of all its ranks for another node travel there
 * together. They are collected in the node, sent as one message, and handed out there.
 *
 * Source: Bienz, Gropp, Olson, "Reducing communication in algebraic multigrid with multi-step node
 * aware communication", IJHPCA 34(5), 2020; Collom, Li, Bienz, SC Workshops 2023 (node_aware.c).
 * Cost: 3 messages one after the other for each of q other nodes that a node has edges to, of which
 * one leaves it: at most ceil(q / ppn) between nodes from a rank, in place of one for each edge.
 * Restrictions: none. Blocks longer than combined_bytes, and those for ranks of this node, go as in
 * neighbor_alltoall_linear; so do all where each node has one rank, or there is one node.
 * Messages: as MPI_BYTE, with 4 bytes for the length of each block; on the private communicator.
 * Scratch: combined_bytes + 4 for each block that passes a rank, which the ranks agree on when they
 * make the routes; where that is more than half of the memory of the profile, all blocks go
 * directly. The routes: a few words for each block that passes. */
#include "neighbors.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, neighbor_alltoall, neighbor_alltoall_node_aware, pl_neighbors_node_aware,
            "short blocks to another node as one message (Bienz, Gropp, Olson 2020)",
            .parameters = {PL_COMBINED_BYTES});
