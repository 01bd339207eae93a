/* Copies of any layout. Between equal architectures MPI_Pack writes the elements' bytes one after
 * another and nothing else; pl_pack relies on that and checks the length. */
#include "tools.h"

#include <stdint.h>
#include <string.h>

bool pl_dense_uncommon(MPI_Datatype type)
{
    int integers, addresses, datatypes, combiner, size;
    MPI_Aint lb, extent;
    return PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner) ==
               MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED &&
           PMPI_Type_get_extent(type, &lb, &extent) == MPI_SUCCESS &&
           PMPI_Type_size(type, &size) == MPI_SUCCESS && lb == 0 && extent == size;
}

/* Integers, not pointers: with MPI_BOTTOM there is no array to point into. */
void *pl_at_uncommon(const void *buf, long long index, MPI_Datatype type)
{
    MPI_Aint lb, extent;
    PMPI_Type_get_extent(type, &lb, &extent);
    return (void *)((intptr_t)buf + (intptr_t)(index * extent));
}

/* Elements to be packed on their own: MPICH 5.0.2 packs one at MPI_BOTTOM, but takes NULL for a
 * missing buffer where there are more. */
static int alone_at_bottom(const void *buf, int count)
{
    return buf == MPI_BOTTOM && count > 1;
}

int pl_pack(const void *buf, int count, MPI_Datatype type, void *packed, int bytes, MPI_Comm comm)
{
    if (bytes == 0)
        return MPI_SUCCESS;
    if (pl_dense(type)) {
        memcpy(packed, buf, (size_t)bytes);
        return MPI_SUCCESS;
    }
    int rc, position = 0;
    const int alone = alone_at_bottom(buf, count);
    if (alone)
        PL_TRY(PMPI_Pack(buf, alone, type, packed, bytes, &position, comm));
    PL_TRY(PMPI_Pack(pl_at(buf, alone, type), count - alone, type, packed, bytes, &position, comm));
    if (position != bytes)
        return pl_raise(comm, MPI_ERR_TYPE);
out:
    return rc;
}

int pl_unpack(const void *packed, int bytes, void *buf, int count, MPI_Datatype type, MPI_Comm comm)
{
    if (bytes == 0)
        return MPI_SUCCESS;
    if (pl_dense(type)) {
        memcpy(buf, packed, (size_t)bytes);
        return MPI_SUCCESS;
    }
    int rc, position = 0;
    const int alone = alone_at_bottom(buf, count);
    if (alone)
        PL_TRY(PMPI_Unpack(packed, bytes, &position, buf, alone, type, comm));
    PL_TRY(
        PMPI_Unpack(packed, bytes, &position, pl_at(buf, alone, type), count - alone, type, comm));
out:
    return rc;
}

int pl_copy_uncommon(const void *from, void *to, int count, MPI_Datatype type, MPI_Comm comm)
{
    int rc = MPI_SUCCESS;
    const int bytes = count * pl_size_of(type);
    if (pl_dense(type))
        return pl_unpack(from, bytes, to, count, type, comm);
    void *packed = pl_scratch(comm, PL_SLOT_COPY, (size_t)bytes);
    if (!packed)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    PL_TRY(pl_pack(from, count, type, packed, bytes, comm));
    PL_TRY(pl_unpack(packed, bytes, to, count, type, comm));
out:
    return rc;
}

void *pl_scratch_uncommon(MPI_Comm comm, int slot, int count, MPI_Datatype type)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    const MPI_Aint stretch = count > 0 ? (count - 1) * extent : 0;
    const MPI_Aint first = true_lb + (stretch < 0 ? stretch : 0);
    const MPI_Aint span = count > 0 ? true_extent + (stretch < 0 ? -stretch : stretch) : 0;
    void *memory = pl_scratch(comm, slot, (size_t)span);
    return memory ? (void *)((intptr_t)memory - first) : NULL;
}
