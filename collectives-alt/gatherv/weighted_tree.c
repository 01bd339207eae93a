/* Gatherv on a tree whose shape follows the volumes, so that ranks with few bytes hand them to
 * ranks with many. Blocks of more than `bundle_bytes`, and bundles that would get longer than that,
 * go directly to the root.
 *
 * Source: Traeff, "Practical, linear-time, fully distributed algorithms for irregular gather and
 * scatter", EuroMPI 2017 (arXiv 1702.05967), for the tree; Traeff, "Hierarchical gather/scatter
 * algorithms with graceful degradation", IPDPS 2004, for long blocks. The root knows the counts and
 * takes no part in the search for the tree.
 * Cost: with short blocks at most 3 ceil(log2 p) a + (n - n_root) b; a + m b more for each message
 * that goes directly.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: in each merger of ranges two of 8 bytes between their first ranks, and one to each
 * holder that is another rank; a bundle of bytes from each holder of some; all on the private
 * communicator.
 * Scratch: at most `bundle_bytes`, at the root too; some words a rank there. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, gatherv, gatherv_weighted_tree, pl_weighted_tree,
            "on a tree that follows the volumes, long blocks directly (Traeff 2017)",
            .scratch_bytes = PL_BUNDLE_MOST, .parameters = {PL_BUNDLE_BYTES}, .least_ranks = 4);
