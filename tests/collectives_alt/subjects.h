/* What is checked: the variants of a function with values for their parameters. */
#ifndef PL_TEST_SUBJECTS_H
#define PL_TEST_SUBJECTS_H

#include "variant.h"

struct subject {
    struct pl_spec spec;
    bool few_elements; /* extreme values: a segment of one byte cuts no megabytes */
    long failures, cases, refused;
};

struct subjects {
    enum pl_function function;
    struct subject *subject;
    int size;
};

/* Those of the catalogue whose variant or function is named, all without names; first of all the
 * library's own function. With `standard` only standard values. */
struct subjects subjects_make(enum pl_function function, int names, char **name, bool standard);
void subjects_free(struct subjects *subjects);

/* A line for each variant, if `print`; returns the failures on all ranks. */
long subjects_print(const struct subjects *subjects, bool print);

/* "name:parameter=value,…" */
const char *subject_text(char *text, size_t size, const struct subject *subject);

#endif
