/* Parameters that several variants read under one name, for `.parameters = {…}`: what is legal is
 * written once; the standard value and what is worth a search come with the variant. */
#ifndef PL_PARAMETERS_H
#define PL_PARAMETERS_H

#include "variant.h"

#include <limits.h>

/* PL_SEGMENT_BYTES(standard value, summary, tries…) and so on; see struct pl_parameter. */
#define PL_SEGMENT_BYTES(value, text, ...) PL_COUNTED("segment_bytes", 1, value, text, __VA_ARGS__)
#define PL_RADIX(value, text, ...) PL_COUNTED("radix", 2, value, text, __VA_ARGS__)
#define PL_COUNTED(what, from, value, text, ...)                                                   \
    {                                                                                              \
        .name = what, .least = from, .most = INT_MAX, .standard = value, .tries = {__VA_ARGS__},   \
        .summary = text                                                                            \
    }

/* What nobody may say: the same body does several variants. */
#define PL_FIXED(value)                                                                            \
    {                                                                                              \
        .standard = value                                                                          \
    }

/* Of k-nomial trees of data movers; of both trees of hierarchical variants. */
#define PL_TREE_RADIX                                                                              \
    PL_RADIX(4, "base of the tree: radix - 1 children a level", 2, 3, 4, 8, 16, 32)
#define PL_LEVELS_RADIX PL_RADIX(2, "of the k-nomial trees of both levels", 2, 4, 8)
/* The radix of Bruck's Allgather(v). */
#define PL_BRUCK_RADIX PL_RADIX(2, "ranks that exchange in a round, with oneself", 2, 3, 4, 8, 16)
/* The radix of Allgather(v) by recursive multiplying. */
#define PL_MULTIPLYING_RADIX PL_RADIX(4, "ranks that exchange at once, at most", 3, 4, 5, 8, 16, 32)
/* The most blocks of a message on parallel aggregated trees. */
#define PL_TREE_BLOCKS PL_COUNTED("blocks", 1, 8, "that a message has at most", 1, 2, 4, 8, 16, 32)
/* Of a root that does not open all its messages at once. */
#define PL_WINDOW                                                                                  \
    PL_COUNTED("window", 1, 16, "messages that are open at the root at a time", 2, 4, 8, 16, 32, 64)
/* Of trees that bundle short blocks: longer blocks, and what does not fit, take no detour. */
enum { PL_BUNDLE_MOST = 1 << 20 };
#define PL_BUNDLE_BYTES                                                                            \
    {                                                                                              \
        .name = "bundle_bytes", .least = 1, .most = PL_BUNDLE_MOST, .standard = 16384,             \
        .tries = {1024, 4096, 16384, 65536},                                                       \
        .summary = "bytes that other ranks pass on in one message"                                 \
    }
/* Of pipelined Bcasts. */
#define PL_BCAST_SEGMENT                                                                           \
    PL_SEGMENT_BYTES(65536, "bytes that travel as one message", 1024, 8192, 32768, 65536, 131072)
/* Of neighbourhood collectives that combine messages of a node. */
#define PL_COMBINED_BYTES                                                                          \
    PL_COUNTED("combined_bytes", 1, 4096, "of a block that is combined at most", 256, 1024, 4096,  \
               16384)
/* Of every <function>_as_split. */
#define PL_PIECES PL_COUNTED("pieces", 1, 2, "calls that the data is spread over", 2, 4, 8, 16)

#endif
