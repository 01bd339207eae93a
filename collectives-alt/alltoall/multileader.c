/* Alltoall by several leaders a node: ranks hand their blocks to the leader of their group, leaders
 * exchange with one leader of each other node what is for all its ranks, share that among the
 * leaders of their own node, and hand it out. One leader a node is the hierarchical Alltoall.
 *
 * Source: Kinkead, Wesley, Schonbein, DeBonis, Dosanjh, Bienz, "Scaling all-to-all operations
 * across emerging many-core supercomputers", SC Workshops 2025 (arXiv 2601.17606): multi-leader and
 * node-aware together.
 * Cost on N nodes of m ranks with l leaders, so g = m / l ranks a group: (N-1) (a + g n/N b)
 * between nodes, for each leader at the same time; inside (l-1) a + g n b among leaders, and (g-1)
 * (2 a + 2 n b) at each leader for its group. Restrictions: none. Groups have at most 8 ranks, so
 * that nodes of more than 8 `leaders` have more; where nodes have unequally many ranks, and from
 * 256 MiB on, each rank leads itself. Messages: one up and one down for every rank that does not
 * lead; N - 1 and l - 1 from each leader; on the private communicator. Scratch: 4 n for each rank
 * of a group at its leader, at most 32 n; 2 n at others. */
#include "everyone.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, alltoall, alltoall_multileader, pl_alltoall_by_nodes,
            "leaders exchange what is for whole nodes (Kinkead et al. 2025)",
            .scratch_volumes = 3 * PL_GROUP_MOST,
            .parameters = {PL_COUNTED("leaders", 1, 4, "of each node", 1, 2, 4, 8, 16)},
            .least_ranks = 4);
