/* Datatypes and operations of the tests: dense, with gaps, with a lower bound, out of order,
 * at absolute addresses. */
#ifndef PL_TEST_LAYOUTS_H
#define PL_TEST_LAYOUTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* How the memory under a type is filled, so that every value is a legal operand. */
enum base { BASE_BYTE, BASE_INT, BASE_DOUBLE };

struct layout {
    const char *name;
    enum base base;
    int ints[2];  /* pairs: byte offsets of both integers; else -1 */
    char *origin; /* absolute addresses: the element whose buffer is MPI_BOTTOM; else NULL */
    MPI_Datatype type;
};

enum {
    LAYOUT_BYTE,
    LAYOUT_INT,
    LAYOUT_DOUBLE,
    LAYOUT_PAIR,
    LAYOUT_VECTOR,
    LAYOUT_SHIFTED,
    LAYOUT_SWAPPED,
    LAYOUT_SENT,     /* absolute addresses in what is sent */
    LAYOUT_RECEIVED, /* and in what is received */
    LAYOUTS
};
extern struct layout layouts[LAYOUTS];

struct operation {
    const char *name;
    bool commutative, exact, own; /* own: one of MPI's */
    MPI_Op op;
};

/* Elements that an operation of ours has been handed at once since this was set to zeros. */
extern struct operated {
    int least, most;
} operated;

/* Operations for a layout: `*count` of them. */
const struct operation *operations_for(int layout, int *count);

void layouts_make(void);
/* Where absolute addresses point from now on: the first elements of both sides. */
void layouts_put(char *sent, char *received);
/* The buffer argument for elements that begin at `place`. */
void *layout_buffer(int layout, char *place);
void layouts_free(void);

/* Random values, the same for the same seed. */
void fill(void *memory, size_t bytes, enum base base, unsigned long long seed);

#endif
