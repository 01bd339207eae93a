#include "restrictions.h"

const struct pl_restriction_name pl_restriction_names[] = {
    {PL_COMMUTATIVE, "commutative", "may change the order of operands"},
    {PL_NO_IN_PLACE, "no_in_place", "does not know MPI_IN_PLACE"},
    {PL_CONTIGUOUS, "contiguous", "needs a type without gaps"},
    {PL_BUILTIN_TYPE, "builtin_type", "needs a predefined datatype"},
    {PL_BUILTIN_OP, "builtin_op", "needs an operation of MPI's own"},
    {PL_ONE_NODE, "one_node", "needs all ranks on one node, where they can share memory"},
    {PL_NOT_COUNTED, "counted", "needs a communication volume known on all ranks, below 2 GiB"},
};
const int pl_restriction_count = sizeof pl_restriction_names / sizeof *pl_restriction_names;
