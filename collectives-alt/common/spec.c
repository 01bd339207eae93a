/* A variant with values for its parameters, as text. */
#include "variant.h"

#include <stdio.h>
#include <string.h>

const struct pl_variant *pl_variant_by_name(const char *name)
{
    for (int i = 0; i < pl_catalogue_size; i++)
        if (strcmp(pl_catalogue[i]->name, name) == 0)
            return pl_catalogue[i];
    return NULL;
}

static int index_of(const struct pl_variant *variant, const char *name, size_t length)
{
    for (int i = 0; i < PL_PARAMETERS_MAX && variant->parameters[i].name; i++)
        if (strlen(variant->parameters[i].name) == length &&
            memcmp(variant->parameters[i].name, name, length) == 0)
            return i;
    return -1;
}

/* Decimal digits up to ',' or the end; -1: no such number, or more than `most`. */
static int number(const char **at, int most)
{
    long long value = 0;
    const char *first = *at;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        value = value * 10 + (**at - '0');
        if (value > most)
            return -1;
    }
    return *at == first || (**at != ',' && **at != '\0') ? -1 : (int)value;
}

struct pl_spec pl_spec_of(const struct pl_variant *variant)
{
    struct pl_spec spec = {.variant = variant};
    for (int i = 0; i < PL_PARAMETERS_MAX; i++)
        spec.values[i] = variant->parameters[i].standard;
    return spec;
}

bool pl_spec_parse(const char *text, struct pl_spec *spec, char *why, size_t size)
{
    char name[64];
    bool seen[PL_PARAMETERS_MAX] = {false};
    const size_t length = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 0, text);
    const struct pl_variant *variant = pl_variant_by_name(name);
    if (!variant) {
        snprintf(why, size, "no such variant; 'probe --list' names them (variants)");
        return false;
    }
    *spec = pl_spec_of(variant);
    for (const char *at = text + length; *at;) {
        const char *key = ++at;
        const size_t key_length = strcspn(key, "=,");
        const int i = index_of(variant, key, key_length);
        if (i < 0 || key[key_length] != '=') {
            snprintf(why, size, "'%.*s' is not parameter=value; %s has %s%s%s",
                     (int)strcspn(key, ","), key, name,
                     variant->parameters[0].name ? variant->parameters[0].name : "none",
                     variant->parameters[1].name ? ", " : "",
                     variant->parameters[1].name ? variant->parameters[1].name : "");
            return false;
        }
        const struct pl_parameter *parameter = &variant->parameters[i];
        at = key + key_length + 1;
        spec->values[i] = number(&at, parameter->most);
        if (spec->values[i] < parameter->least) {
            snprintf(why, size, "%s is a number from %d to %d", parameter->name, parameter->least,
                     parameter->most);
            return false;
        }
        if (seen[i]) {
            snprintf(why, size, "%s stands twice", parameter->name);
            return false;
        }
        seen[i] = true;
    }
    return true;
}

int pl_spec_run(const struct pl_spec *spec, const struct pl_call *call)
{
    struct pl_call with_values = *call;
    with_values.values = spec->values;
    return spec->variant->run(&with_values);
}
