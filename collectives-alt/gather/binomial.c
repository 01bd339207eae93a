/* Gather on a binomial tree: each rank collects the blocks of its subtree and passes them on in one
 * message, so the root receives ceil(log2 p) messages instead of p - 1.
 *
 * Source: case study 1 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016 (section 5.2).
 * Cost: ceil(log2 p) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: the subtree's blocks on inner ranks, at most n/2 bytes; at the root those that cannot be
 * received in place (derived type, or a subtree that wraps around rank p - 1), at most n bytes. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, gather, gather_binomial, pl_tree_gather,
            "binomial tree, ceil(log2 p) rounds (case study 1)", .scratch_volumes = 1,
            .parameters = {PL_FIXED(2)});
