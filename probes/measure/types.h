/* The datatypes and reduction operations a plan may name. Both are known by their index here; the
 * tables need no MPI_Init, the handles are asked for when a case is set up. */
#ifndef PL_TYPES_H
#define PL_TYPES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum pl_kind_of_type {
    PL_KIND_BYTE = 1,
    PL_KIND_TEXT = 2,
    PL_KIND_INTEGER = 4,
    PL_KIND_FLOAT = 8,
    PL_KIND_DOUBLE = 16,
    PL_KIND_LOGICAL = 32,
};

enum pl_rule_of_data {
    PL_RULE_ANY,
    PL_RULE_SUM,
    PL_RULE_PRODUCT,
    PL_RULE_ALL_TRUE,
    PL_RULE_ANY_TRUE,
    PL_RULE_HALF_TRUE,
    PL_RULE_ALL_BITS,
    PL_RULE_ANY_BIT,
};

struct pl_type {
    const char *name;
    enum pl_kind_of_type kind;
    size_t size;
};

struct pl_op {
    const char *name;
    enum pl_rule_of_data rule;
    unsigned kinds; /* of enum pl_kind_of_type */
};

extern const struct pl_type pl_types[];
extern const int pl_type_count;
extern const struct pl_op pl_ops[];
extern const int pl_op_count;

MPI_Datatype pl_type_handle(int type);
MPI_Op pl_op_handle(int op);

static inline bool pl_op_defined(int op, int type)
{
    return (pl_ops[op].kinds & pl_types[type].kind) != 0;
}

#endif
