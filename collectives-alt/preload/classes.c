/* Which class an operation or a datatype belongs to. The standard makes both arguments equal on all
 * ranks of a reduction, so these are safe to decide by there, and only there. */
#include "classes.h"
#include "variant.h"

#include <string.h>

enum op_kind {
    SUM = 1 << PL_SUM,
    PROD = 1 << PL_PROD,
    MIN = 1 << PL_MIN,
    MAX = 1 << PL_MAX,
    LAND = 1 << PL_LAND,
    LOR = 1 << PL_LOR,
    LXOR = 1 << PL_LXOR,
    BAND = 1 << PL_BAND,
    BOR = 1 << PL_BOR,
    BXOR = 1 << PL_BXOR,
    MINLOC = 1 << PL_MINLOC,
    MAXLOC = 1 << PL_MAXLOC,
    PREDEFINED_OPS = (1 << PL_OWN_OPS) - 1,
    USER = 1 << PL_OWN_OPS,          /* user-defined, commutative */
    ORDERED = 1 << (PL_OWN_OPS + 1), /* user-defined, not commutative */
};

enum type_kind {
    INTEGER = 1 << 0,
    FLOATING = 1 << 1,
    COMPLEX = 1 << 2,
    LOGICAL = 1 << 3,
    BYTE = 1 << 4,
    PAIR = 1 << 5, /* of MINLOC and MAXLOC */
    DERIVED = 1 << 6,
    OTHER = 1 << 7, /* characters, MPI_PACKED, what a library adds */
};

struct word {
    const char *word;
    unsigned kinds;
};

static const struct word op_words[] = {
    {"any", PL_ANY_CLASS},
    {"sum", SUM},
    {"prod", PROD},
    {"min", MIN},
    {"max", MAX},
    {"minmax", MIN | MAX},
    {"loc", MINLOC | MAXLOC},
    {"logical", LAND | LOR | LXOR},
    {"bitwise", BAND | BOR | BXOR},
    {"predefined", PREDEFINED_OPS},
    {"user", USER | ORDERED},
    {"commutative", PREDEFINED_OPS | USER},
    {NULL, 0},
};

static const struct word type_words[] = {
    {"any", PL_ANY_CLASS}, {"integer", INTEGER}, {"floating", FLOATING},
    {"complex", COMPLEX},  {"logical", LOGICAL}, {"byte", BYTE},
    {"pair", PAIR},        {"derived", DERIVED}, {NULL, 0},
};

static bool parse(const struct word *table, const char *words, unsigned *kinds)
{
    *kinds = 0;
    for (const char *at = words;; at++) {
        const size_t length = strcspn(at, ",");
        const struct word *entry = table;
        while (entry->word &&
               (strlen(entry->word) != length || memcmp(entry->word, at, length) != 0))
            entry++;
        if (!entry->word)
            return false;
        *kinds |= entry->kinds;
        at += length;
        if (*at == '\0')
            return true;
    }
}

/* A table has its narrow words above the wide ones, but for `any`. What was parsed is a union of
 * words, so each kind is found. */
static void put_words(const struct word *table, unsigned kinds,
                      void (*put)(void *to, const char *word), void *to)
{
    unsigned found = 0;
    const struct word *entry = table;
    if (kinds == PL_ANY_CLASS) {
        put(to, table->word);
        return;
    }
    while (entry[1].word)
        entry++;
    for (; entry > table; entry--)
        if ((entry->kinds & ~kinds) == 0 && (entry->kinds & ~found) != 0) {
            found |= entry->kinds;
            put(to, entry->word);
        }
}

void pl_op_words(unsigned kinds, void (*put)(void *to, const char *word), void *to)
{
    put_words(op_words, kinds, put, to);
}

void pl_type_words(unsigned kinds, void (*put)(void *to, const char *word), void *to)
{
    put_words(type_words, kinds, put, to);
}

bool pl_op_classes(const char *words, unsigned *kinds)
{
    return parse(op_words, words, kinds);
}

bool pl_type_classes(const char *words, unsigned *kinds)
{
    return parse(type_words, words, kinds);
}

unsigned pl_op_kind(MPI_Op op)
{
    const enum pl_own_op own = pl_own_op(op);
    int commutative = 0;
    if (own < PL_OWN_OPS)
        return 1u << own;
    PMPI_Op_commutative(op, &commutative);
    return commutative ? USER : ORDERED;
}

#define IS_ONE_OF(kind, ...)                                                                       \
    do {                                                                                           \
        const MPI_Datatype known[] = {__VA_ARGS__};                                                \
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)                                  \
            if (type == known[i])                                                                  \
                return kind;                                                                       \
    } while (0)

/* MPI_DATATYPE_NULL in the place of a Fortran type that the library was built without is harmless:
 * no call with it gets here. */
static unsigned predefined_kind(MPI_Datatype type)
{
    IS_ONE_OF(FLOATING, MPI_DOUBLE, MPI_FLOAT, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION,
              MPI_REAL4, MPI_REAL8);
    IS_ONE_OF(INTEGER, MPI_INT, MPI_LONG, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_LONG_LONG,
              MPI_UNSIGNED_LONG_LONG, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_SIGNED_CHAR,
              MPI_UNSIGNED_CHAR, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T,
              MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT,
              MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8);
    IS_ONE_OF(COMPLEX, MPI_C_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX,
              MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16);
    IS_ONE_OF(LOGICAL, MPI_C_BOOL, MPI_LOGICAL);
    IS_ONE_OF(BYTE, MPI_BYTE);
    IS_ONE_OF(PAIR, MPI_2INT, MPI_SHORT_INT, MPI_LONG_INT, MPI_FLOAT_INT, MPI_DOUBLE_INT,
              MPI_LONG_DOUBLE_INT, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER);
    return OTHER;
}

bool pl_is_derived(unsigned type_kind)
{
    return type_kind == DERIVED;
}

/* MPI_Type_create_f90_* give predefined types without a name. */
unsigned pl_type_kind(MPI_Datatype type)
{
    int integers, addresses, datatypes, combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
    switch (combiner) {
    case MPI_COMBINER_NAMED:
        return predefined_kind(type);
    case MPI_COMBINER_F90_REAL:
        return FLOATING;
    case MPI_COMBINER_F90_COMPLEX:
        return COMPLEX;
    case MPI_COMBINER_F90_INTEGER:
        return INTEGER;
    default:
        return DERIVED;
    }
}
