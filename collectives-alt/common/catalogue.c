/* The variants of catalogue.def, in its order. */
#include "variant.h"

#include <string.h>

#define PL_VARIANT(name) extern const struct pl_variant pl_##name;
#include "catalogue.def"
#undef PL_VARIANT

const struct pl_variant *const pl_catalogue[] = {
#define PL_VARIANT(name) &pl_##name,
#include "catalogue.def"
#undef PL_VARIANT
};

const int pl_catalogue_size = sizeof pl_catalogue / sizeof pl_catalogue[0];

const struct pl_variant *pl_variant_by_name(const char *name)
{
    for (int i = 0; i < pl_catalogue_size; i++)
        if (strcmp(pl_catalogue[i]->name, name) == 0)
            return pl_catalogue[i];
    return NULL;
}
