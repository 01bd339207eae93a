/* Gatherv on a k-nomial tree, in bundles: a rank collects the short blocks of its
 * subtree, whose lengths are those of the messages, so that no rank has to know a count. A bundle
 * of more than `bundle_bytes` goes to the root as soon as it is there, and so does a longer block:
 * few bytes take the tree, many the direct way.
 *
 * Source: the tree of gather/knomial.c; Traeff, "Hierarchical gather/scatter
 * algorithms with graceful degradation", IPDPS 2004: a tree for short blocks, the root itself for
 * long ones. How bundles are cut is ours.
 * Cost: (radix-1) ceil(log_radix p) a + (n - n_root) b at the root; a more for each message that
 * goes directly, of which there are at most 2 n / bundle_bytes; the tree adds at most
 * ceil(log_radix p) bundle_bytes b.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one to its parent from every rank but the root, empty ones too; those that go directly;
 * all on the private communicator. The root gets bundles in the order in which they are made.
 * Scratch: at most 2 `bundle_bytes`, at the root too; some words a rank there. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, gatherv, gatherv_bundled_tree, pl_bundled_tree,
            "short blocks on a tree in bundles, long ones directly (after Traeff 2004)",
            .scratch_bytes = 2 * PL_BUNDLE_MOST, .parameters = {PL_TREE_RADIX, PL_BUNDLE_BYTES},
            .least_ranks = 4);
