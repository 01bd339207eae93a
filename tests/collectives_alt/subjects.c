#include "subjects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 512, TRIES = sizeof(((struct pl_parameter *)NULL)->tries) / sizeof(int) };

static int run_default(const struct pl_call *call)
{
    return pl_call_pmpi(call);
}

/* The library's own functions. */
static struct pl_variant own[PL_FUNCTION_COUNT];

static void add(struct subjects *s, struct pl_spec spec, bool few_elements)
{
    for (int i = 0; i < s->size; i++)
        if (s->subject[i].spec.variant == spec.variant &&
            memcmp(s->subject[i].spec.values, spec.values, sizeof spec.values) == 0)
            return;
    if (s->size == ROOM)
        abort();
    s->subject[s->size++] = (struct subject){.spec = spec, .few_elements = few_elements};
}

static void add_variant(struct subjects *s, const struct pl_variant *variant, bool standard)
{
    const struct pl_spec spec = pl_spec_of(variant);
    struct pl_spec least = spec;
    add(s, spec, false);
    for (int i = 0; i < PL_PARAMETERS_MAX && variant->parameters[i].name && !standard; i++) {
        const struct pl_parameter *parameter = &variant->parameters[i];
        struct pl_spec other = spec;
        for (int t = 0; t < TRIES && parameter->tries[t]; t++) {
            other.values[i] = parameter->tries[t];
            add(s, other, false);
        }
        other.values[i] = parameter->most;
        add(s, other, true);
        other.values[i] = least.values[i] = parameter->least;
        add(s, other, true);
    }
    if (!standard)
        add(s, least, true);
}

static bool is_named(const struct pl_variant *variant, int names, char **name)
{
    for (int i = 0; i < names; i++)
        if (strcmp(name[i], variant->name) == 0 ||
            strcmp(name[i], pl_function_name(variant->function)) == 0)
            return true;
    return names == 0;
}

struct subjects subjects_make(enum pl_function function, int names, char **name, bool standard)
{
    struct subjects s = {function, malloc(ROOM * sizeof(struct subject)), 0};
    if (!s.subject)
        abort();
    own[function] =
        (struct pl_variant){.name = "default", .function = function, .run = run_default};
    for (int i = 0; i < pl_catalogue_size; i++) {
        const struct pl_variant *variant = pl_catalogue[i];
        if (variant->function != function || !is_named(variant, names, name))
            continue;
        if (s.size == 0)
            add(&s, pl_spec_of(&own[function]), false);
        add_variant(&s, variant, standard);
    }
    return s;
}

void subjects_free(struct subjects *s)
{
    free(s->subject);
    s->subject = NULL;
}

long subjects_print(const struct subjects *s, bool print)
{
    long all = 0;
    for (int i = 0; i < s->size;) {
        const struct pl_variant *variant = s->subject[i].spec.variant;
        long own_failures = 0, failures = 0, cases = 0, refused = 0;
        int specs = 0;
        for (; i < s->size && s->subject[i].spec.variant == variant; i++, specs++) {
            own_failures += s->subject[i].failures;
            cases += s->subject[i].cases;
            refused += s->subject[i].refused;
        }
        PMPI_Allreduce(&own_failures, &failures, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        all += failures;
        if (print)
            printf("%s %s%s%s %ld refused=%ld specs=%d\n", failures ? "not ok" : "ok",
                   variant == &own[s->function] ? pl_function_name(s->function) : "",
                   variant == &own[s->function] ? ":" : "", variant->name, cases, refused, specs);
    }
    fflush(stdout);
    return all;
}

const char *subject_text(char *text, size_t size, const struct subject *subject)
{
    const struct pl_variant *variant = subject->spec.variant;
    int at = snprintf(text, size, "%s%s%s",
                      variant == &own[variant->function] ? pl_function_name(variant->function) : "",
                      variant == &own[variant->function] ? ":" : "", variant->name);
    for (int i = 0; i < PL_PARAMETERS_MAX && variant->parameters[i].name; i++)
        at += snprintf(text + at, size - (size_t)at, "%c%s=%d", i ? ',' : ':',
                       variant->parameters[i].name, subject->spec.values[i]);
    return text;
}
