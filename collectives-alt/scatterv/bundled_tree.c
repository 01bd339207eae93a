/* Scatterv on a k-nomial tree, in bundles: a rank gets the short blocks of its subtree
 * behind a table of their lengths. A subtree whose blocks do not fit a bundle of `bundle_bytes`
 * gets one of its own from the root, and longer blocks come from the root too: few bytes take the
 * tree, many the direct way.
 *
 * Source: the tree of scatter/knomial.c; Traeff, "Hierarchical gather/scatter
 * algorithms with graceful degradation", IPDPS 2004: a tree for short blocks, the root itself for
 * long ones. How bundles are cut is ours.
 * Cost: (radix-1) ceil(log_radix p) a + (n - n_root + 4 p ceil(log_radix p)) b; a more for each
 * message that comes directly.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one from its parent to every rank but the root, unless it is a leaf that gets nothing;
 * those from the root; all on the private communicator. Scratch: at most 2 `bundle_bytes`; some
 * words a rank, at the root too. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, scatterv, scatterv_bundled_tree, pl_bundled_tree,
            "short blocks on a tree in bundles, long ones directly (after Traeff 2004)",
            .scratch_bytes = 2 * PL_BUNDLE_MOST, .parameters = {PL_TREE_RADIX, PL_BUNDLE_BYTES},
            .least_ranks = 4);
