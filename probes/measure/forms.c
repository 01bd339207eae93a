#include "measure/forms.h"

#include "immediate.h"

#include <string.h>

/* What the probe does not measure comes behind; it has neighbours as a pattern (pattern/). */
enum { FUNCTIONS = PL_FN_reduce_local + 1 };

static const struct pl_form immediate[FUNCTIONS] = {
#define PL_FUNCTION(symbol, name)                                                                  \
    {"MPI_I" #symbol, "i" #symbol "_as_" #symbol, PL_FN_##symbol, pl_immediate},
#define PL_UNMEASURED_FUNCTION(...)
#include "functions.def"
#undef PL_FUNCTION
};

static const struct pl_form persistent[FUNCTIONS] = {
#define PL_FUNCTION(symbol, name)                                                                  \
    {"MPI_" #name "_init", #symbol "_init_as_" #symbol, PL_FN_##symbol, pl_persistent},
#define PL_UNMEASURED_FUNCTION(...)
#include "functions.def"
#undef PL_FUNCTION
};

static bool is_there(const struct pl_form *form)
{
    return form->run == pl_persistent ? pl_persistent_has(form->function)
                                      : form->function != PL_FN_reduce_local;
}

const struct pl_form *pl_form_at(int place)
{
    for (int i = 0; i < 2 * FUNCTIONS; i++) {
        const struct pl_form *form = i < FUNCTIONS ? &immediate[i] : &persistent[i - FUNCTIONS];
        if (is_there(form) && place-- == 0)
            return form;
    }
    return NULL;
}

const struct pl_form *pl_form_by_name(const char *name)
{
    const struct pl_form *form;
    for (int i = 0; (form = pl_form_at(i)); i++)
        if (strcmp(form->name, name) == 0)
            return form;
    return NULL;
}

const struct pl_form *pl_form_by_blocking(const char *name)
{
    const struct pl_form *form;
    for (int i = 0; (form = pl_form_at(i)); i++)
        if (strcmp(form->blocking, name) == 0)
            return form;
    return NULL;
}
