/* Operations for random reductions: predefined ones, and some of a program, which look at how they
 * are called. All results are exact, in whatever order operands were joined. */
#ifndef PL_TEST_OPERATORS_H
#define PL_TEST_OPERATORS_H

#include "draw.h"

struct operator_drawn {
    const char *name;
    MPI_Op op;
    struct form form;
    bool doubles; /* operands must be small whole numbers */
};

void operators_make(void);
void operators_free(void);

/* An operation and a datatype for it. */
struct operator_drawn operator_draw(struct draw *draw);

/* The reduction that comes: `count` elements of the form. */
void operator_expect(const struct operator_drawn *drawn, int count);
/* What operations of the program saw since then that no library may do to them; NULL: nothing. */
const char *operator_complaint(void);

#endif
