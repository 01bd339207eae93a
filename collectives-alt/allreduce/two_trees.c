/* Allreduce up and down two binary trees at once, each with a half of the vector in segments. A
 * rank has children in one of them at most, so all links are busy.
 *
 * Source: Sanders, Speck, Traeff, Parallel Computing 35(12), 2009 (two trees for broadcast and
 * reduction).
 * Cost for m segments a half: about 4 (log2 p + m) (a + n/2m b) + 2 (log2 p + m) n/2m g: a rank
 * receives each half twice, up and down.
 * Restrictions: MPI's own operations, since the vector is cut; they commute, as the trees ask.
 * Parameter: segment_bytes.
 * Messages: one a segment up and one down from and to every rank but 0, on the private
 * communicator. Scratch: two segments a child. */
#include "parameters.h"
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_two_trees, pl_reduce_on_two_trees,
            "two binary trees with a half of the vector each, in segments (Sanders et al. 2009)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 2,
            .parameters = {PL_SEGMENT_BYTES(16384, "bytes that one message carries", 1024, 4096,
                                            16384, 65536, 262144)},
            .least_ranks = 4);
