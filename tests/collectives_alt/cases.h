/* The arguments of test cases, and the memory they work on. */
#ifndef PL_TEST_CASES_H
#define PL_TEST_CASES_H

#include "layouts.h"
#include "variant.h"

enum { GUARD = 64, MIXED = LAYOUTS, RANKS_MAX = 64 };

struct area {
    char *memory;
    size_t bytes, room;
};

struct setting {
    MPI_Comm comm;
    const char *comm_name;
    int count, layout, root; /* layout MIXED: each rank and side has its own; LAYOUT_SENT: both
                                sides are absolute, but a reduction has one type */
    const struct operation *operation;
    bool in_place;
    unsigned long long serial; /* names the random data */
};

/* Counts and displacements, by rank. */
struct tables {
    int sendcounts[RANKS_MAX], sdispls[RANKS_MAX], recvcounts[RANKS_MAX], rdispls[RANKS_MAX];
};

/* The call of a rank on side[0], from which it sends, and side[1]. Arguments that are not
 * significant are garbage. */
struct pl_call call_for(enum pl_function function, const struct setting *setting, int rank,
                        struct tables *tables, const struct area side[2]);

/* The function has a root; knows MPI_IN_PLACE; has counts by rank, or one a rank. */
bool has_root(enum pl_function function);
bool has_in_place(enum pl_function function);
bool has_blocks(enum pl_function function);

/* Arguments that are not significant become garbage, but for the address. */
void no_send(struct pl_call *call, const void *sendbuf);
void no_receive(struct pl_call *call, void *recvbuf);

/* Gives an area the size that a side of this case needs. */
void area_fit(struct area *area, enum pl_function function, const struct setting *setting);
/* Random data, the same for the same setting, rank and side. */
void area_fill(struct area *area, const struct setting *setting, int rank, int side);
void area_copy(struct area *to, const struct area *from);
void area_free(struct area *area);

/* Zeroes what a call leaves undefined in its receive area. */
void forget_undefined(const struct pl_call *call);

/* Bit by bit, or as doubles within the bound of a sum of `terms` positive numbers: each of two sums
 * lies within (terms - 1) u of the exact one, u = 2^-53, in whatever order they were added. */
bool areas_equal(const struct area *a, const struct area *b, bool exact, int terms);

#endif
