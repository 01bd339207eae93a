/* Which restrictions of a variant a call would break.
 *
 * All ranks must come to the same answer. So PL_CONTIGUOUS and PL_BUILTIN_TYPE are for reductions,
 * whose datatype is the same everywhere (elsewhere only signatures are), and PL_NO_IN_PLACE is for
 * functions without a root (of a rooted one only the root knows). */
#include "variant.h"

/* Datatypes that are significant on this rank; unused places hold MPI_DATATYPE_NULL. */
static void significant_types(const struct pl_call *call, MPI_Datatype types[2])
{
    int rank = -1;
    types[0] = types[1] = MPI_DATATYPE_NULL;
    if (call->function == PL_FN_barrier)
        return;
    if (call->comm != MPI_COMM_NULL && call->function != PL_FN_reduce_local)
        PMPI_Comm_rank(call->comm, &rank);
    const bool root = rank == call->root;

    switch (call->function) {
    case PL_FN_gather:
    case PL_FN_gatherv:
        types[0] = call->sendbuf == MPI_IN_PLACE ? MPI_DATATYPE_NULL : call->sendtype;
        types[1] = root ? call->recvtype : MPI_DATATYPE_NULL;
        break;
    case PL_FN_scatter:
    case PL_FN_scatterv:
        types[0] = root ? call->sendtype : MPI_DATATYPE_NULL;
        types[1] = call->recvbuf == MPI_IN_PLACE ? MPI_DATATYPE_NULL : call->recvtype;
        break;
    case PL_FN_allgather:
    case PL_FN_allgatherv:
    case PL_FN_alltoall:
    case PL_FN_alltoallv:
        types[0] = call->sendbuf == MPI_IN_PLACE ? MPI_DATATYPE_NULL : call->sendtype;
        types[1] = call->recvtype;
        break;
    default:
        types[1] = call->recvtype;
    }
}

static bool is_contiguous(MPI_Datatype type)
{
    int size;
    MPI_Aint lb, extent, true_lb, true_extent;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    return lb == 0 && true_lb == 0 && extent == size && true_extent == size;
}

static bool is_builtin(MPI_Datatype type)
{
    int integers, addresses, datatypes, combiner;
    PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

static bool is_commutative(MPI_Op op)
{
    int commutative = 0;
    return PMPI_Op_commutative(op, &commutative) == MPI_SUCCESS && commutative;
}

static unsigned layout_obstacles(const struct pl_call *call, unsigned asked)
{
    unsigned found = 0;
    MPI_Datatype types[2];
    significant_types(call, types);
    for (int i = 0; i < 2; i++) {
        if (types[i] == MPI_DATATYPE_NULL)
            continue;
        if ((asked & PL_CONTIGUOUS) && !is_contiguous(types[i]))
            found |= PL_CONTIGUOUS;
        if ((asked & PL_BUILTIN_TYPE) && !is_builtin(types[i]))
            found |= PL_BUILTIN_TYPE;
    }
    return found;
}

unsigned pl_counted_obstacles(const struct pl_variant *variant, const struct pl_call *call)
{
    const unsigned asked = variant->restrictions;
    const bool reduction = pl_reduces(call->function);
    unsigned found = 0;
    if (reduction && call->op == MPI_OP_NULL)
        return PL_NOT_COUNTED;
    if (asked & (PL_CONTIGUOUS | PL_BUILTIN_TYPE))
        found |= layout_obstacles(call, asked);
    if ((asked & PL_COMMUTATIVE) && reduction && !is_commutative(call->op))
        found |= PL_COMMUTATIVE;
    if ((asked & PL_NO_IN_PLACE) &&
        (call->sendbuf == MPI_IN_PLACE || call->recvbuf == MPI_IN_PLACE))
        found |= PL_NO_IN_PLACE;
    return found;
}

unsigned pl_variant_obstacles(const struct pl_variant *variant, const struct pl_call *call)
{
    if (variant->function != call->function || pl_volume(call) == PL_NO_VOLUME)
        return PL_NOT_COUNTED;
    return pl_counted_obstacles(variant, call);
}
