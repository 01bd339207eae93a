/* Alltoall in two steps: each rank exchanges with one rank of each other node what is for all ranks
 * there, and the ranks of a node exchange what has come: alltoall/multileader.c where each rank
 * leads itself.
 *
 * Source: Kinkead, Wesley, Schonbein, DeBonis, Dosanjh, Bienz, "Scaling all-to-all operations
 * across emerging many-core supercomputers", SC Workshops 2025 (arXiv 2601.17606). Cost on N nodes
 * of m ranks: (N-1) (a + n/N b) between nodes and (m-1) (a + n/m b) inside, and n bytes copied
 * three times. Restrictions: none. Messages: N - 1 to other nodes and m - 1 to ranks of the own one
 * from each rank, on the private communicator; some ranks receive more where nodes have unequally
 * many ranks. Scratch: 3 n; at most 5 n where nodes have unequally many ranks. */
#include "everyone.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, alltoall, alltoall_node_aware, pl_alltoall_by_nodes,
            "ranks exchange what is for whole nodes, then inside nodes (Kinkead et al. 2025)",
            .scratch_volumes = 5, .parameters = {PL_FIXED(INT_MAX)}, .least_ranks = 4);
