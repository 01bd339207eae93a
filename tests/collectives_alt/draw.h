/* Random choices, the same for the same seed: numbers, and datatypes of one signature in many
 * shapes. */
#ifndef PL_TEST_DRAW_H
#define PL_TEST_DRAW_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct draw {
    unsigned long long state;
};

struct draw draw_from(unsigned long long seed, unsigned long long what, unsigned long long which);
unsigned long long draw_bits(struct draw *draw);
int draw_below(struct draw *draw, int bound);
bool draw_chance(struct draw *draw, int percent);
void draw_shuffle(struct draw *draw, int *values, int size);
void draw_fill(struct draw *draw, void *memory, size_t bytes);

/* What an element is made of. */
enum { FIELDS = 4 };
struct signature {
    int fields;
    MPI_Datatype types[FIELDS];
};

/* One to FIELDS numbers of 1 to 8 bytes. */
struct signature signature_draw(struct draw *draw);
/* `fields` numbers of one type. */
struct signature signature_of(MPI_Datatype type, int fields);

/* A datatype of the signature: predefined, contiguous, vector, indexed or struct; fields in another
 * order than in memory; gaps; a lower bound, an extent of its own. */
struct form {
    MPI_Datatype type;
    bool made;                  /* to be freed */
    int per;                    /* elements of the type for one of the signature */
    long offsets[FIELDS];       /* of the fields, in bytes */
    MPI_Aint extent, low, high; /* data of an element: bytes low .. high - 1 */
    char text[MPI_MAX_OBJECT_NAME + 64];
};

/* `whole`: one element of the type for one of the signature. */
struct form form_draw(struct draw *draw, const struct signature *signature, bool whole);
/* A predefined datatype. */
struct form form_of(MPI_Datatype type);
/* No data in one element. */
struct form form_hollow(void);
void form_free(struct form *form);

#endif
