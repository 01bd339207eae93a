/* Operands of the reductions. The standard gives all ranks the same count, datatype and operation,
 * so variants of reductions keep the datatype; any layout will do.
 *
 * Mock-ups of reductions refuse types that are not contiguous all the same: they lead a library
 * into algorithms that it would not choose by itself, and some of these are wrong there. Open MPI
 * 4.1.4 writes before its own memory, in the ring algorithm of Allreduce and in Ireduce, when the
 * data of a type does not start at its address. MPICH 5.0.2 gives a wrong Reduce_scatter_block of
 * types with a negative lower bound and operations that are not commutative. */
#include "tools.h"

const void *pl_operand(const struct pl_call *call)
{
    return call->sendbuf == MPI_IN_PLACE ? call->recvbuf : call->sendbuf;
}

int pl_first(const int *counts, int rank)
{
    int first = 0;
    for (int i = 0; i < rank; i++)
        first += counts[i];
    return first;
}

/* What stands there is doubled; pieces stay small, since a derived type goes through scratch. */
int pl_repeat(const void *element, void *to, int count, MPI_Datatype type, MPI_Comm comm)
{
    enum { MOST = 1024 };
    int rc = MPI_SUCCESS;
    if (count > 0)
        PL_TRY(pl_copy(element, to, 1, type, comm));
    for (int done = 1, more; done < count; done += more) {
        more = done < MOST ? done : MOST;
        more = more < count - done ? more : count - done;
        PL_TRY(pl_copy(to, pl_at(to, done, type), more, type, comm));
    }
out:
    return rc;
}

int pl_pad(const void *from, int count, int padded, MPI_Datatype type, MPI_Comm comm,
           const void **out)
{
    int rc = MPI_SUCCESS;
    *out = from;
    if (count == padded)
        return MPI_SUCCESS;
    void *copy = pl_scratch_elements(comm, PL_SLOT_SEND, padded, type);
    if (!copy)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    PL_TRY(pl_copy(from, copy, count, type, comm));
    PL_TRY(pl_repeat(from, pl_at(copy, count, type), padded - count, type, comm));
    *out = copy;
out:
    return rc;
}
