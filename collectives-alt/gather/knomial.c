/* Gather on a k-nomial tree: each rank collects the blocks of its subtree and passes them on in one
 * message. k = 2 is gather_binomial, k >= p a star with all receives open at once.
 *
 * Source: the binomial tree of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016 (section 5.2)
 * with base k instead of 2.
 * Cost: (k-1) ceil(logk p) a + (p-1)/p n b; fewer levels than the binomial tree pass blocks on, and
 * a rank receives from its children in any order.
 * Restrictions: none; any root, any layout.
 * Messages: one from every rank but the root, at most (k-1) ceil(logk p) to a rank.
 * Scratch: as gather_binomial. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, gather, gather_knomial, pl_tree_gather,
            "k-nomial tree, ceil(logk p) levels", .scratch_volumes = 1,
            .parameters = {PL_TREE_RADIX});
