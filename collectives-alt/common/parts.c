/* Blocks of all ranks as bytes; see parts.h. */
#include "parts.h"

#include <limits.h>
#include <string.h>

struct pl_side pl_recv_side(const struct pl_call *call)
{
    return (struct pl_side){call->recvbuf, call->recvcount, call->recvcounts, call->rdispls,
                            call->recvtype};
}

struct pl_side pl_send_side(const struct pl_call *call)
{
    if (call->sendbuf == MPI_IN_PLACE)
        return pl_recv_side(call);
    return (struct pl_side){call->sendbuf, call->sendcount, call->sendcounts, call->sdispls,
                            call->sendtype};
}

static int count_of(const struct pl_side *side, int i)
{
    return side->counts ? side->counts[i] : side->count;
}

static void *address_of(const struct pl_side *side, int i)
{
    return pl_at(side->buf, side->counts ? side->displs[i] : (long long)i * side->count,
                 side->type);
}

long long pl_side_bytes(const struct pl_side *side, int p)
{
    int size = 0;
    long long elements = 0;
    PMPI_Type_size(side->type, &size);
    for (int i = 0; i < p; i++)
        elements += count_of(side, i);
    return elements * size;
}

struct pl_part *pl_part_tables(MPI_Comm comm, int p, int tables)
{
    return pl_scratch(comm, PL_SLOT_AUX, (size_t)tables * (size_t)p * sizeof(struct pl_part));
}

int pl_parts(MPI_Comm comm, const struct pl_side *side, int p, bool packed, int slot,
             struct pl_part *parts)
{
    int size = 0;
    char *memory = NULL;
    PMPI_Type_size(side->type, &size);
    const bool direct = !packed && pl_dense(side->type);
    if (!direct) {
        memory = pl_scratch(comm, slot, (size_t)pl_side_bytes(side, p));
        if (!memory)
            return pl_raise(comm, MPI_ERR_NO_MEM);
    }
    for (int i = 0; i < p; i++) {
        const int bytes = count_of(side, i) * size;
        parts[i] = (struct pl_part){direct ? address_of(side, i) : memory, bytes};
        if (!direct)
            memory += bytes;
    }
    return MPI_SUCCESS;
}

int pl_parts_pack(MPI_Comm comm, const struct pl_side *side, int first, int count,
                  const struct pl_part *parts)
{
    int rc = MPI_SUCCESS;
    for (int i = first; i < first + count; i++)
        if (parts[i].at != address_of(side, i))
            PL_TRY(pl_pack(address_of(side, i), count_of(side, i), side->type, parts[i].at,
                           parts[i].bytes, comm));
out:
    return rc;
}

int pl_parts_unpack(MPI_Comm comm, const struct pl_side *side, int p, const struct pl_part *parts)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < p; i++)
        if (parts[i].at != address_of(side, i))
            PL_TRY(pl_unpack(parts[i].at, parts[i].bytes, address_of(side, i), count_of(side, i),
                             side->type, comm));
out:
    return rc;
}

bool pl_parts_together(const struct pl_part *parts, int p)
{
    const char *at = parts[0].at;
    for (int i = 0; i < p; i++) {
        if (parts[i].bytes > 0 && parts[i].at != at)
            return false;
        at += parts[i].bytes;
    }
    return true;
}

struct pl_equal_rounds pl_equal_rounds(int total, int longest, int p)
{
    const int width = total / p + (total % p > 0);
    return (struct pl_equal_rounds){width, width > 0 ? longest / width + (longest % width > 0) : 1};
}

struct pl_equal_rounds pl_equal_rounds_of(const struct pl_side *side, int p)
{
    int size = 0, most = 0;
    const long long bytes = pl_side_bytes(side, p);
    if (bytes > INT_MAX - p)
        return (struct pl_equal_rounds){-1, 0};
    PMPI_Type_size(side->type, &size);
    for (int i = 0; i < p && size > 0; i++) /* without bytes, counts may be anything */
        most = count_of(side, i) > most ? count_of(side, i) : most;
    return pl_equal_rounds((int)bytes, most * size, p);
}

int pl_overlap(int bytes, int first, int width)
{
    const int rest = bytes > first ? bytes - first : 0;
    return rest < width ? rest : width;
}

const void *pl_slice(const struct pl_part *part, int first, int width, char *pad)
{
    const int bytes = pl_overlap(part->bytes, first, width);
    if (bytes == width)
        return part->at + first;
    if (bytes > 0)
        memcpy(pad, part->at + first, (size_t)bytes);
    memset(pad + bytes, 0, (size_t)(width - bytes));
    return pad;
}

void pl_slice_to(const struct pl_part *part, int first, int width, char *to)
{
    const void *slice = pl_slice(part, first, width, to);
    if (slice != to && width > 0)
        memcpy(to, slice, (size_t)width);
}

void pl_rows_fill(char *rows, const struct pl_part *parts, int p, int first, int width)
{
    for (int i = 0; i < p; i++, rows += width)
        pl_slice_to(&parts[i], first, width, rows);
}

void pl_rows_empty(const char *rows, const struct pl_part *parts, int p, int first, int width)
{
    for (int i = 0; i < p; i++, rows += width) {
        const int bytes = pl_overlap(parts[i].bytes, first, width);
        if (bytes > 0)
            memcpy(parts[i].at + first, rows, (size_t)bytes);
    }
}
