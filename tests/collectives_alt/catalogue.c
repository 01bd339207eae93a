/* Prints one line a variant: name, function, kind, restrictions, whether a profile may name it.
 * Needs no mpirun.
 *
 * usage: catalogue [all]     without `all`: the variants of measured functions */
#include "variant.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    for (int i = 0; i < pl_catalogue_size; i++) {
        const struct pl_variant *variant = pl_catalogue[i];
        if (!all && !pl_is_measured(variant->function)) /* neighbors.c, alltoallw.c */
            continue;
        if (pl_variant_by_name(variant->name) != variant)
            return 1;
        printf("%s %s %d %u %s\n", variant->name, pl_function_name(variant->function),
               (int)variant->kind, variant->restrictions,
               pl_deployable(variant) ? "deployable" : "undeployable");
    }
    return pl_variant_by_name("default") != NULL;
}
