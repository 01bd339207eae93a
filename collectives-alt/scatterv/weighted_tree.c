/* Scatterv on the tree of gatherv/weighted_tree.c, from the root down: ranks with many bytes
 * receive those of ranks with few, and pass them on. Blocks of more than `bundle_bytes`, and
 * bundles that would get longer than that, come directly from the root.
 *
 * Source: Traeff, "Practical, linear-time, fully distributed algorithms for irregular gather and
 * scatter", EuroMPI 2017 (arXiv 1702.05967), for the tree; Traeff, "Hierarchical gather/scatter
 * algorithms with graceful degradation", IPDPS 2004, for long blocks. Each rank knows what it
 * receives, so the search for the tree is that of the gather.
 * Cost: with short blocks at most 3 ceil(log2 p) a + (n - n_root) b; a + m b more for each message
 * that goes directly.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: those of gatherv/weighted_tree.c, bundles the other way.
 * Scratch: at most `bundle_bytes`, at the root too; some words a rank there. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, scatterv, scatterv_weighted_tree, pl_weighted_tree,
            "on a tree that follows the volumes, long blocks directly (Traeff 2017)",
            .scratch_bytes = PL_BUNDLE_MOST, .parameters = {PL_BUNDLE_BYTES}, .least_ranks = 4);
