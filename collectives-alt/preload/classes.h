/* Classes of reduction operations and of datatypes, as rules name them. A class is a set of kinds;
 * a handle is of exactly one kind. */
#ifndef PL_CLASSES_H
#define PL_CLASSES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#define PL_ANY_CLASS (~0u)

/* "sum", "min,max", "user" … as a set of kinds; false when a word is unknown. docs/profile.md lists
 * the words. */
bool pl_op_classes(const char *words, unsigned *kinds);
bool pl_type_classes(const char *words, unsigned *kinds);

/* Words that mean these kinds, the widest first: gives them to `put` one by one. */
void pl_op_words(unsigned kinds, void (*put)(void *to, const char *word), void *to);
void pl_type_words(unsigned kinds, void (*put)(void *to, const char *word), void *to);

/* The one kind of a handle. Predefined datatypes that no class names (characters, MPI_PACKED) are
 * only in `any`. */
unsigned pl_op_kind(MPI_Op op);
unsigned pl_type_kind(MPI_Datatype type);
bool pl_is_derived(unsigned type_kind);

#endif
