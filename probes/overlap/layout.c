#include "overlap/layout.h"

#include <string.h>

enum { BLOCK = 32, STRIDE = 64, HEAD = 8, TAIL_AT = 24 };

static MPI_Datatype structure(void)
{
    const int lengths[] = {HEAD, BLOCK - HEAD};
    const MPI_Aint places[] = {0, TAIL_AT};
    MPI_Datatype types[] = {MPI_CHAR, MPI_CHAR}, inner, outer;
    PMPI_Type_create_struct(2, lengths, places, types, &inner);
    PMPI_Type_create_resized(inner, 0, STRIDE, &outer);
    PMPI_Type_free(&inner);
    return outer;
}

struct pl_message pl_message_of(enum pl_layout layout, int bytes)
{
    int blocks = bytes / BLOCK + (bytes % BLOCK > 0);
    struct pl_message message = {MPI_BYTE, bytes, bytes, (size_t)bytes};
    if (layout == PL_LAYOUT_CONTIGUOUS)
        return message;
    message.bytes = (int64_t)blocks * BLOCK;
    message.extent = (size_t)blocks * STRIDE;
    if (layout == PL_LAYOUT_VECTOR) {
        message.count = 1;
        PMPI_Type_vector(blocks, BLOCK, STRIDE, MPI_CHAR, &message.type);
    } else {
        message.count = blocks;
        message.type = structure();
    }
    PMPI_Type_commit(&message.type);
    return message;
}

void pl_message_free(struct pl_message *message)
{
    if (message->type != MPI_BYTE)
        PMPI_Type_free(&message->type);
}

bool pl_layout_covers(enum pl_layout layout, size_t at)
{
    size_t in = at % STRIDE;
    switch (layout) {
    case PL_LAYOUT_VECTOR:
        return in < BLOCK;
    case PL_LAYOUT_STRUCTURE:
        return in < HEAD || (in >= TAIL_AT && in < TAIL_AT + BLOCK - HEAD);
    case PL_LAYOUT_CONTIGUOUS:
        break;
    }
    return true;
}

size_t pl_layout_last(enum pl_layout layout, size_t extent)
{
    while (extent > 0 && !pl_layout_covers(layout, extent - 1))
        extent--;
    return extent;
}

static char value(enum pl_layout layout, size_t at, uint64_t seed)
{
    uint64_t mixed =
        ((at + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ seed) * UINT64_C(0xBF58476D1CE4E5B9);
    return (char)(pl_layout_covers(layout, at) ? (mixed >> 56) | 1 : 0);
}

void pl_layout_fill(enum pl_layout layout, char *memory, size_t extent, uint64_t seed)
{
    for (size_t at = 0; at < extent; at++)
        memory[at] = value(layout, at, seed);
}

bool pl_layout_holds(enum pl_layout layout, const char *memory, size_t extent, uint64_t seed)
{
    for (size_t at = 0; at < extent; at++)
        if (memory[at] != value(layout, at, seed))
            return false;
    return true;
}
