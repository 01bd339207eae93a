/* The variants of catalogue.def, in its order. */
#include "variant.h"

#define PL_VARIANT(name) extern const struct pl_variant pl_##name;
#include "catalogue.def"
#undef PL_VARIANT

const struct pl_variant *const pl_catalogue[] = {
#define PL_VARIANT(name) &pl_##name,
#include "catalogue.def"
#undef PL_VARIANT
};

const int pl_catalogue_size = sizeof pl_catalogue / sizeof pl_catalogue[0];
