/* Parses a profile from standard input. Prints its library and rules, or LINE|TOKEN|WHAT and fails.
 * With an argument also says whether a library of that version fits. Needs no mpirun. */
#include "preload/profile.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static char input[1 << 16];
    const size_t length = fread(input, 1, sizeof input - 1, stdin);
    char *text = malloc(length + 1); /* exact, so that a sanitizer sees a read past the end */
    for (size_t i = 0; i <= length; i++)
        text[i] = input[i];
    struct pl_profile profile;
    struct pl_profile_error error;
    const bool good = pl_profile_parse(text, length, &profile, &error);
    if (good) {
        printf("library=%s\n", profile.library);
        for (int i = 0; i < profile.count; i++) {
            const struct pl_rule *rule = &profile.rules[i];
            printf("%d %s %d-%d %lld-%lld %s\n", rule->line, pl_function_name(rule->function),
                   rule->nprocs_from, rule->nprocs_to, rule->bytes_from, rule->bytes_to,
                   rule->variant->name);
        }
        if (argc > 1)
            printf("fits=%d\n", pl_profile_fits(&profile, argv[1]));
        pl_profile_free(&profile);
    } else {
        printf("%d|%s|%s\n", error.line, error.token, error.what);
    }
    free(text);
    return !good;
}
