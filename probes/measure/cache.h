/* In which state the caches are when a repetition starts.
 *
 * warm       the same buffers in every repetition: as in an application that works on them.
 * cycle      every repetition has buffers of its own, further on in two areas (Gropp and Lusk,
 *            Reproducible measurements of MPI performance characteristics, EuroPVM/MPI 1999): no
 *            byte of them has been touched since all the rest of its area was. What the library
 *            keeps for itself stays warm.
 * overwrite  before every repetition an auxiliary buffer is written that displaces all that the
 *            core's private caches hold (Hunold and Carpen-Amarie, TPDS 2016, section 4.7), what
 *            the library keeps too; a cache that cores share may still have the data.
 *
 * Sizes come from hwloc, on every node for itself. */
#ifndef PL_CACHE_H
#define PL_CACHE_H

#include "measure/arguments.h"
#include "system/topology.h"

/* Bytes of one area: `asked`; 0: twice the largest cache, but not more than lets all areas of the
 * node together take an eighth of its memory, never less than twice the private cache. Either way
 * there is room for two messages. */
size_t pl_cache_area(const struct pl_cache_sizes *sizes, int ppn, size_t message_bytes,
                     size_t asked);

/* Where a message of `bytes` starts when the one before has ended at `end`: on the next page; where
 * the area of `size` bytes has no room left, at its beginning again, one line further into the
 * page, so that small messages come to all of it. `turn` counts how often that was. */
size_t pl_cache_next(size_t end, size_t bytes, size_t size, size_t page, size_t line,
                     unsigned *turn);

#define PL_CACHE_MOST (UINT64_C(1) << 46) /* bytes of an area that a plan may ask for */

enum { PL_CACHE_OVERWRITTEN = 2 }; /* private caches that the auxiliary buffer is as large as */

struct pl_cache {
    enum pl_cache_mode mode;
    size_t bytes; /* what the header says: area, or auxiliary buffer; the largest of all ranks */
    size_t size, page, line;
    unsigned char *auxiliary;
    unsigned char *send, *recv; /* areas */
    size_t end;                 /* of the last message */
    unsigned turn;
    void *memory[2];
};

/* Collective. `sizes` are asked for where the plan does not say `warm`. NULL, or what went wrong,
 * on all ranks. */
const char *pl_cache_open(struct pl_cache *cache, const struct pl_plan *plan,
                          const struct pl_world *world, const struct pl_cache_sizes *sizes,
                          int ppn);
void pl_cache_close(struct pl_cache *cache);

/* Before the start scheme of a repetition: makes the state, gives the call its buffers. Data in the
 * areas are zero, of which every operation on every type makes zero. */
void pl_cache_prepare(struct pl_cache *cache, struct pl_arguments *arguments);

#endif
