/* `probe --list`: what this binary knows, as one JSON object. Needs no MPI_Init. */
#ifndef PL_LIST_H
#define PL_LIST_H

#include <stdio.h>

void pl_list(FILE *out);

#endif
