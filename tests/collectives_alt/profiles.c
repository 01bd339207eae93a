/* Parses a profile from standard input. Prints its library and rules, or LINE|TOKEN|WHAT and fails.
 * With an argument also says whether a library of that version fits. Needs no mpirun. */
#include "preload/profile.h"

#include <stdio.h>
#include <stdlib.h>

static void print_rule(const struct pl_rule *rule)
{
    printf("%d %s %lld-%lld %lld-%lld %s", rule->line, pl_function_name(rule->function),
           rule->nprocs.from, rule->nprocs.to, rule->bytes.from, rule->bytes.to,
           rule->spec.variant->name);
    for (int i = 0; i < PL_PARAMETERS_MAX && rule->spec.variant->parameters[i].name; i++)
        printf(" %d", rule->spec.values[i]);
    if (rule->by_nodes)
        printf(" nodes %lld-%lld ppn %lld-%lld", rule->nodes.from, rule->nodes.to, rule->ppn.from,
               rule->ppn.to);
    if (~rule->ops || ~rule->types)
        printf(" op %x type %x", rule->ops, rule->types);
    if (rule->equal_counts)
        printf(" equal counts");
    printf("\n");
}

int main(int argc, char **argv)
{
    enum { MOST = 1 << 24 };
    static char input[MOST];
    const size_t length = fread(input, 1, sizeof input - 1, stdin);
    char *text = malloc(length + 1); /* exact, so that a sanitizer sees a read past the end */
    for (size_t i = 0; i <= length; i++)
        text[i] = input[i];
    struct pl_profile profile;
    struct pl_profile_error error;
    const bool good = pl_profile_parse(text, length, &profile, &error);
    if (good) {
        printf("library=%s\n", profile.library);
        printf("memory=%zu communicators=%d nearest=%d\n", profile.memory, profile.communicators,
               profile.nearest);
        for (int i = 0; i < profile.count; i++)
            print_rule(&profile.rules[i]);
        if (argc > 1)
            printf("fits=%d\n", pl_profile_fits(&profile, argv[1]));
        pl_profile_free(&profile);
    } else {
        printf("%d|%s|%s\n", error.line, error.token, error.what);
    }
    free(text);
    return !good;
}
