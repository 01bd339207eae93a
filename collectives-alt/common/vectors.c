/* The vector of a reduction, cut into ranges. */
#include "vectors.h"

static int first_of(const struct pl_cut *cut, int i)
{
    if (cut->first)
        return cut->first[i];
    const int longer = cut->n % cut->ranges;
    return cut->n / cut->ranges * i + (i < longer ? i : longer);
}

struct pl_range pl_cut_run(const struct pl_cut *cut, int i, int end)
{
    const int first = first_of(cut, i);
    return (struct pl_range){first, first_of(cut, end) - first};
}

struct pl_range pl_cut_range(const struct pl_cut *cut, int i)
{
    return pl_cut_run(cut, i, i + 1);
}

int pl_cut_of(const struct pl_call *call, int p, struct pl_cut *cut)
{
    *cut = (struct pl_cut){.n = call->recvcount, .ranges = p};
    if (call->function == PL_FN_reduce_scatter_block)
        cut->n = p * call->recvcount;
    if (call->function != PL_FN_reduce_scatter)
        return MPI_SUCCESS;
    int *first = pl_scratch(call->comm, PL_SLOT_AUX, ((size_t)p + 1) * sizeof *first);
    if (!first)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    first[0] = 0;
    for (int i = 0; i < p; i++)
        first[i + 1] = first[i] + call->recvcounts[i];
    cut->n = first[p];
    cut->first = first;
    return MPI_SUCCESS;
}

int pl_segment(const struct pl_call *call, int segment_bytes, int n)
{
    const int size = pl_size_of(call->recvtype);
    const int elements = size > 0 ? segment_bytes / size : n;
    return elements < 1 ? 1 : elements < n ? elements : n;
}

/* Sums of a few elements are computed here: a call of the library takes longer than the sum. */
enum { FEW_ELEMENTS = 64 };
#define ADD_FEW(Type)                                                                              \
    do {                                                                                           \
        typedef Type __attribute__((aligned(1), may_alias)) element;                               \
        typedef Type __attribute__((vector_size(16), aligned(1), may_alias)) vector;               \
        enum { WIDTH = 16 / sizeof(Type) };                                                        \
        int i = 0;                                                                                 \
        for (; i <= count - WIDTH; i += WIDTH)                                                     \
            *(vector *)((element *)inout + i) += *(const vector *)((const element *)in + i);       \
        for (; i < count; i++)                                                                     \
            ((element *)inout)[i] += ((const element *)in)[i];                                     \
        return true;                                                                               \
    } while (0)

/* False where the sum is left to the library. */
static bool add_few(MPI_Datatype type, const void *in, void *inout, int count)
{
    if (type == MPI_DOUBLE)
        ADD_FEW(double);
    if (type == MPI_FLOAT)
        ADD_FEW(float);
    if (type == MPI_INT)
        ADD_FEW(unsigned); /* an overflow is not undefined */
    return false;
}

int pl_combine(const struct pl_call *call, const void *in, void *inout, int count)
{
    if (count <= FEW_ELEMENTS && call->op == MPI_SUM && add_few(call->recvtype, in, inout, count))
        return MPI_SUCCESS;
    return count > 0 ? PL_MPI(Reduce_local)(in, inout, count, call->recvtype, call->op)
                     : MPI_SUCCESS;
}

int pl_alone(const struct pl_call *call)
{
    const int n = call->function == PL_FN_reduce_scatter ? call->recvcounts[0] : call->recvcount;
    if (call->sendbuf == MPI_IN_PLACE)
        return MPI_SUCCESS;
    return pl_copy(call->sendbuf, call->recvbuf, n, call->recvtype, call->comm);
}
