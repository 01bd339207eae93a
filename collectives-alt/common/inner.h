/* The collectives that a variant is made of: pl_inner_X(arguments of MPI_X, call), on the
 * communicator of the variant's own `call`.
 *
 * Replacements compose: such a call goes by the rules of the profile, as a call of the application
 * does, at the volume that it passes on. In libplumbline.so pl_replace decides. The probe's copies
 * ask libplumbline.so where it is preloaded, so that a variant that is called by name does what it
 * does as a rule. */
#ifndef PL_INNER_H
#define PL_INNER_H

#include "variant.h"

/* The functions whose inner calls may be replaced, as bits. */
extern unsigned pl_ruled;

/* A call of the same function, with the arguments in `part`: a part of the `outer` one. */
int pl_inner_part(const struct pl_call *part, const struct pl_call *outer);

#define PL_COLLECTIVE(symbol, Name, SHAPE)                                                         \
    int pl_ruled_##Name PL_P_##SHAPE(int, int, , const struct pl_call *outer);                     \
    static inline int pl_inner_##Name PL_P_##SHAPE(int, int, , const struct pl_call *outer)        \
    {                                                                                              \
        return pl_ruled >> PL_FN_##symbol & 1u ? pl_ruled_##Name PL_G_##SHAPE(, outer)             \
                                               : PL_MPI(Name) PL_G_##SHAPE();                      \
    }
#include "collectives.def"

/* What libplumbline.so offers to the probe's copies; its name changes with struct pl_call. */
#define PL_COMPOSE plumbline_compose_2
extern int PL_COMPOSE(struct pl_call *call) __attribute__((weak, visibility("default")));

#endif
