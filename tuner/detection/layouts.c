/* Where the parts of a scatter, a gather or an exchange lie in the memory of the rank that has them
 * all (detect/personal.py). */
#include "store.h"

#include <stdbool.h>

/* The numbers that detect/personal.py has, the worst first. */
enum { OVERLAPPING, APART, ORDER, REGULAR, ARRAY };

/* A row for each time: `blocks` of `size` − 1 ranks (or fewer), by address, bytes, and place of
 * their rank in the group. */
struct layouts {
    int64_t rows, blocks, size;
    const int64_t *address, *bytes, *place;
    const int64_t *own, *gaps; /* by row: the place of the rank itself; bytes of an element */
};

struct block {
    int64_t address, bytes, place;
};

static void sort(struct block *blocks, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        const struct block block = blocks[i];
        int64_t at = i;
        for (; at &&
               (blocks[at - 1].address > block.address ||
                (blocks[at - 1].address == block.address &&
                 (blocks[at - 1].bytes > block.bytes ||
                  (blocks[at - 1].bytes == block.bytes && blocks[at - 1].place > block.place))));
             at--)
            blocks[at] = blocks[at - 1];
        blocks[at] = block;
    }
}

static int64_t apart(const struct block *block, int64_t size)
{
    return (block[1].place - block[0].place + size) % size;
}

/* Whether blocks lie in the order of ranks, whichever comes first. */
static bool are_in_turn(const struct block *blocks, int64_t count)
{
    int64_t descents = blocks[count - 1].place > blocks[0].place;
    for (int64_t i = 0; i + 1 < count; i++)
        descents += blocks[i].place > blocks[i + 1].place;
    return descents <= 1;
}

/* Without gaps but one, which lies where the own block would, and is not much larger. */
static bool are_side_by_side(const struct block *blocks, int64_t count, int64_t own)
{
    int64_t largest = 0, gaps = 0, gap = 0;
    bool ordered = true, between = false;
    for (int64_t i = 0; i < count; i++)
        if (blocks[i].bytes > largest)
            largest = blocks[i].bytes;
    for (int64_t i = 0; i + 1 < count; i++) {
        const struct block *left = &blocks[i], *right = left + 1;
        ordered &= left->place < right->place;
        if (left->address + left->bytes == right->address)
            continue;
        if (!gaps++) {
            gap = right->address - left->address - left->bytes;
            between = left->place < own && own < right->place;
        }
    }
    return !gaps || (gaps == 1 && between && gap <= 2 * largest && ordered);
}

/* Equal blocks at equal distances by ranks: ARRAY or REGULAR, else APART. */
static int64_t at_strides(const struct block *blocks, int64_t count, int64_t size, int64_t gaps)
{
    if (count < 2)
        return APART;
    const int64_t first = blocks[1].address - blocks[0].address, places = apart(blocks, size);
    const int64_t bytes = blocks[0].bytes;
    for (int64_t i = 1; i + 1 < count; i++)
        if ((blocks[i + 1].address - blocks[i].address) * places != first * apart(&blocks[i], size))
            return APART;
    if (first == bytes * places)
        return ARRAY;
    const bool enough = count > 2 && (gaps || first > bytes * places);
    return enough || first == gaps * places ? REGULAR : APART;
}

static int64_t layout(const struct block *blocks, int64_t count, int64_t size, int64_t own,
                      int64_t gaps)
{
    bool equal = true, overlap = false;
    for (int64_t i = 0; i + 1 < count; i++) {
        if (blocks[i].address == blocks[i + 1].address)
            return OVERLAPPING;
        equal &= blocks[i].bytes == blocks[i + 1].bytes;
        overlap |= blocks[i].address + blocks[i].bytes > blocks[i + 1].address;
    }
    if (equal && are_in_turn(blocks, count)) {
        const int64_t kind = at_strides(blocks, count, size, gaps);
        if (kind != APART)
            return kind;
    }
    if (!gaps && overlap)
        return OVERLAPPING;
    return !gaps && are_side_by_side(blocks, count, own) ? ORDER : APART;
}

static void lay_out(struct pl_answer *answer, const void *pointer)
{
    const struct layouts *given = pointer;
    int64_t *kinds = pl_get(answer->store, (size_t)given->rows, sizeof *kinds);
    struct block *blocks = pl_get(answer->store, (size_t)given->blocks, sizeof *blocks);
    for (int64_t row = 0; row < given->rows; row++) {
        for (int64_t i = 0, at = row * given->blocks; i < given->blocks; i++, at++)
            blocks[i] = (struct block){given->address[at], given->bytes[at], given->place[at]};
        sort(blocks, given->blocks);
        kinds[row] = layout(blocks, given->blocks, given->size, given->own[row], given->gaps[row]);
    }
    pl_answer_with(answer, kinds, given->rows);
}

/* How the blocks of each row lie. */
PL_ENTRY struct pl_answer *pl_layouts(int64_t rows, int64_t blocks, int64_t size,
                                      const int64_t *address, const int64_t *bytes,
                                      const int64_t *place, const int64_t *own, const int64_t *gaps)
{
    return pl_answered(lay_out,
                       &(struct layouts){rows, blocks, size, address, bytes, place, own, gaps});
}
