/* The non-blocking and the persistent form of a collective, as functions of their own: MPI_Ibcast
 * is begun and waited for, MPI_Bcast_init is set up before a series of calls, each of which is
 * started and waited for.
 *
 * A form has the arguments, the volume and the result of its blocking function. Beside its default
 * it has one variant, that function itself: ibcast_as_bcast, bcast_init_as_bcast. */
#ifndef PL_MEASURE_FORMS_H
#define PL_MEASURE_FORMS_H

#include "variant.h"

struct pl_form {
    const char *name;     /* "MPI_Ibcast" */
    const char *blocking; /* the variant that is the blocking function */
    enum pl_function function;
    int (*run)(const struct pl_call *call);
};

/* Those of this library; `place` from 0 on, NULL behind the last one. */
const struct pl_form *pl_form_at(int place);
const struct pl_form *pl_form_by_name(const char *name);     /* NULL: no such form */
const struct pl_form *pl_form_by_blocking(const char *name); /* the same, by its variant */

/* Sets up the persistent form of a call; MPI_ERR_ARG where the library has none. */
int pl_persistent_begin(const struct pl_call *call, MPI_Request *request);
bool pl_persistent_has(enum pl_function function);
/* One call: what the same call has set up before is started again. */
int pl_persistent(const struct pl_call *call);
/* Frees what is set up: before its communicator is freed, or its buffers have other contents. */
void pl_persistent_end(void);

#endif
