/* Legal values of a variable as its description lists them. Pure.
 *
 * MPICH and its descendants have no MPI_T enumerators. A variable that takes one of a few values is
 * an int that counts the lines `name - what it does` of its description; writing a number past the
 * last one aborts the process in the next call. */
#ifndef PL_CHOICES_H
#define PL_CHOICES_H

#include <stdbool.h>

/* How many lines say what a value does; 0: the variable is not of that kind. */
int pl_choices_count(const char *description);
/* The name of value `index`, at most size - 1 bytes of it; false: there is no such value. */
bool pl_choices_name(const char *description, int index, char *name, int size);

#endif
