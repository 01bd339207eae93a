/* Which restrictions of a variant a call would break.
 *
 * All ranks must come to the same answer. So restrictions of datatypes and operations are for
 * reductions, where both are the same everywhere (elsewhere only signatures are), and
 * PL_NO_IN_PLACE is for functions without a root (of a rooted one only the root knows). */
#include "shared.h"

static bool is_contiguous(MPI_Datatype type)
{
    int size;
    MPI_Aint lb, extent, true_lb, true_extent;
    if (pl_common_size(type) > 0)
        return true;
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

static unsigned reduction_obstacles(const struct pl_call *call, unsigned asked)
{
    unsigned found = 0;
    if (call->op == MPI_OP_NULL)
        return PL_NOT_COUNTED;
    if ((asked & PL_CONTIGUOUS) && !is_contiguous(call->recvtype))
        found |= PL_CONTIGUOUS;
    if ((asked & PL_BUILTIN_TYPE) && !is_builtin(call->recvtype))
        found |= PL_BUILTIN_TYPE;
    if ((asked & (PL_BUILTIN_OP | PL_COMMUTATIVE)) == 0 || pl_own_op(call->op) != PL_OWN_OPS)
        return found;
    if ((asked & PL_COMMUTATIVE) && !is_commutative(call->op))
        found |= PL_COMMUTATIVE;
    return found | (asked & PL_BUILTIN_OP);
}

unsigned pl_counted_obstacles(const struct pl_variant *variant, const struct pl_call *call)
{
    const unsigned asked = variant->restrictions;
    unsigned found = pl_reduces(call->function) ? reduction_obstacles(call, asked) : 0;
    if ((asked & PL_NO_IN_PLACE) &&
        (call->sendbuf == MPI_IN_PLACE || call->recvbuf == MPI_IN_PLACE))
        found |= PL_NO_IN_PLACE;
    return found;
}

unsigned pl_variant_obstacles(const struct pl_variant *variant, const struct pl_call *call)
{
    if (variant->function != call->function || pl_volume(call) == PL_NO_VOLUME)
        return PL_NOT_COUNTED;
    struct pl_shared *shared;
    const bool alone = (variant->restrictions & PL_ONE_NODE) && pl_shared(call, &shared) == PL_LEFT;
    return pl_counted_obstacles(variant, call) | (alone ? PL_ONE_NODE : 0);
}
