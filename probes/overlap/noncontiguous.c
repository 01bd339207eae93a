/* Sender-side overlap with data that lie apart: 32 of every 64 bytes. */
#include "overlap/sender.h"

const struct pl_bench pl_overlap_vector = {
    .name = "vector",
    .summary = "as sender, blocks of 32 bytes with a stride of 64",
    .layout = PL_LAYOUT_VECTOR,
    .latencies = 1,
    .halves = 1,
    .to_passive = true,
    .active = pl_sender_active,
    .passive = pl_sender_passive,
};

const struct pl_bench pl_overlap_structure = {
    .name = "structure",
    .summary = "as sender, structures of 64 bytes of which 8 and, 16 further on, 24 are sent",
    .layout = PL_LAYOUT_STRUCTURE,
    .latencies = 1,
    .halves = 1,
    .to_passive = true,
    .active = pl_sender_active,
    .passive = pl_sender_passive,
};
