/* The tables of types.def and ops.def. Handles come from a switch, because MPI does not promise
 * that they are constant expressions. */
#include "measure/types.h"

#include <stdint.h>

enum {
#define PL_TYPE(name, kind, c_type) TYPE_##name,
#include "measure/types.def"
#undef PL_TYPE
    TYPE_COUNT
};

enum {
#define PL_OP(name, rule, kinds) OP_##name,
#include "measure/ops.def"
#undef PL_OP
    OP_COUNT
};

const struct pl_type pl_types[] = {
#define PL_TYPE(name, kind, c_type) {#name, kind, sizeof(c_type)},
#include "measure/types.def"
#undef PL_TYPE
};
const int pl_type_count = TYPE_COUNT;

const struct pl_op pl_ops[] = {
#define PL_OP(name, rule, kinds) {#name, rule, kinds},
#include "measure/ops.def"
#undef PL_OP
};
const int pl_op_count = OP_COUNT;

MPI_Datatype pl_type_handle(int type)
{
    switch (type) {
#define PL_TYPE(name, kind, c_type)                                                                \
    case TYPE_##name:                                                                              \
        return name;
#include "measure/types.def"
#undef PL_TYPE
    }
    return MPI_DATATYPE_NULL;
}

MPI_Op pl_op_handle(int op)
{
    switch (op) {
#define PL_OP(name, rule, kinds)                                                                   \
    case OP_##name:                                                                                \
        return name;
#include "measure/ops.def"
#undef PL_OP
    }
    return MPI_OP_NULL;
}
