/* The parser of profiles: strict, pure, without MPI. */
#include "profile.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t UNSET = SIZE_MAX; /* no memory line yet */

static bool parse_library(char *rest, struct pl_profile *profile, struct pl_profile_error *error)
{
    static const char start[] = "version=\"";
    if (profile->library[0])
        return pl_profile_fail(error, rest, "a second library line");
    char *value = rest + sizeof start - 1;
    if (strncmp(rest, start, sizeof start - 1) != 0 || !strchr(value, '"'))
        return pl_profile_fail(error, rest, "not version=\"text\"");
    char *end = strchr(value, '"');
    if (end[1 + strspn(end + 1, pl_blanks)] != '\0')
        return pl_profile_fail(error, end + 1, "text behind the closing quote");
    *end = '\0';
    if (end == value || (size_t)(end - value) >= sizeof profile->library)
        return pl_profile_fail(error, rest, "a version has 1 to %zu characters",
                               sizeof profile->library - 1);
    strcpy(profile->library, value);
    return true;
}

/* "key=number", least <= number <= most, and nothing behind it. */
static bool parse_setting(const char *rest, const char *key, long long least, long long most,
                          long long *value, struct pl_profile_error *error)
{
    const size_t length = strlen(key);
    const char *end = NULL;
    if (strncmp(rest, key, length) == 0 && rest[length] == '=')
        end = pl_parse_number(rest + length + 1, most, value);
    if (!end || end[strspn(end, pl_blanks)] != '\0' || *value < least)
        return pl_profile_fail(error, rest, "not %s= and a number from %lld to %lld", key, least,
                               most);
    return true;
}

static bool parse_memory(const char *rest, struct pl_profile *profile,
                         struct pl_profile_error *error)
{
    long long bytes;
    if (profile->memory != UNSET)
        return pl_profile_fail(error, rest, "a second memory line");
    if (!parse_setting(rest, "bytes", 0, LLONG_MAX, &bytes, error))
        return false;
    profile->memory = (size_t)bytes;
    return true;
}

static bool parse_communicators(const char *rest, struct pl_profile *profile,
                                struct pl_profile_error *error)
{
    long long most;
    if (profile->communicators >= 0)
        return pl_profile_fail(error, rest, "a second communicators line");
    if (!parse_setting(rest, "most", 0, INT_MAX, &most, error))
        return false;
    profile->communicators = (int)most;
    return true;
}

static bool parse_nearest(char *rest, struct pl_profile *profile, struct pl_profile_error *error)
{
    long long factor;
    const size_t length = strcspn(rest, pl_blanks);
    if (profile->nearest)
        return pl_profile_fail(error, rest, "a second nearest line");
    if (length != strlen("nprocs") || strncmp(rest, "nprocs", length) != 0)
        return pl_profile_fail(error, rest, "not nearest nprocs factor=N");
    rest += length;
    if (!parse_setting(rest + strspn(rest, pl_blanks), "factor", 2, INT_MAX, &factor, error))
        return false;
    profile->nearest = (int)factor;
    return true;
}

static bool add_rule(struct pl_profile *profile, const struct pl_rule *rule,
                     struct pl_profile_error *error)
{
    struct pl_rule *rules =
        realloc(profile->rules, (size_t)(profile->count + 1) * sizeof *profile->rules);
    if (!rules)
        return pl_profile_fail(error, "", "out of memory");
    profile->rules = rules;
    profile->rules[profile->count++] = *rule;
    return true;
}

static bool parse_line(char *line, struct pl_profile *profile, struct pl_profile_error *error)
{
    for (const char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' && *at != '\t')
            return pl_profile_fail(error, "", "control character (code %d)", *at);
    if (error->line == 1)
        return strcmp(line, "plumbline-profile 1") == 0 ||
               pl_profile_fail(error, line, "the first line must be: plumbline-profile 1");
    char *word = line + strspn(line, pl_blanks);
    if (*word == '\0' || *word == '#')
        return true;
    char *rest = word + strcspn(word, pl_blanks);
    if (*rest)
        *rest++ = '\0';
    rest += strspn(rest, pl_blanks);
    if (strcmp(word, "library") == 0)
        return parse_library(rest, profile, error);
    if (strcmp(word, "memory") == 0)
        return parse_memory(rest, profile, error);
    if (strcmp(word, "communicators") == 0)
        return parse_communicators(rest, profile, error);
    if (strcmp(word, "nearest") == 0)
        return parse_nearest(rest, profile, error);
    if (strcmp(word, "rule") == 0) {
        struct pl_rule rule = {.line = error->line};
        return pl_rule_parse(rest, &rule, error) && add_rule(profile, &rule, error);
    }
    return pl_profile_fail(error, word,
                           "not `rule`, `library`, `memory`, `communicators`, `nearest` or a "
                           "comment");
}

bool pl_profile_parse(char *text, size_t length, struct pl_profile *profile,
                      struct pl_profile_error *error)
{
    *profile = (struct pl_profile){.memory = UNSET, .communicators = -1};
    *error = (struct pl_profile_error){.line = 1};
    if (strlen(text) != length)
        return pl_profile_fail(error, "", "not a text file: it holds a zero byte");
    for (char *line = text; line; error->line++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (!parse_line(line, profile, error)) {
            pl_profile_free(profile);
            return false;
        }
        line = end ? end + 1 : NULL;
    }
    if (!pl_rules_apart(profile, error)) {
        pl_profile_free(profile);
        return false;
    }
    if (profile->memory == UNSET)
        profile->memory = PL_STANDARD_MEMORY;
    if (profile->communicators < 0)
        profile->communicators = PL_STANDARD_COMMUNICATORS;
    return true;
}

void pl_profile_free(struct pl_profile *profile)
{
    free(profile->rules);
    *profile = (struct pl_profile){.library = ""};
}

bool pl_profile_fits(const struct pl_profile *profile, const char *version)
{
    const size_t length = strlen(profile->library);
    if (length == 0)
        return true;
    if (strncmp(version, profile->library, length) != 0)
        return false;
    /* 4.1.1 is not 4.1.12 */
    const char last = profile->library[length - 1], next = version[length];
    return !(last >= '0' && last <= '9' && next >= '0' && next <= '9');
}
