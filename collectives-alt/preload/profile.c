/* The parser of profiles: strict, pure, without MPI. */
#include "profile.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t";

__attribute__((format(printf, 3, 4))) static bool fail(struct pl_profile_error *error,
                                                       const char *token, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->what, sizeof error->what, format, args);
    va_end(args);
    snprintf(error->token, sizeof error->token, "%s", token);
    return false;
}

/* Decimal digits only, up to `most`; returns what follows them, NULL if there is no such number. */
static const char *parse_number(const char *text, long long most, long long *value)
{
    const char *at = text;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        const int digit = *at - '0';
        if (*value > (most - digit) / 10)
            return NULL;
        *value = *value * 10 + digit;
    }
    return at == text ? NULL : at;
}

/* "a-b" or "a-inf", least <= a <= b <= most. */
static bool parse_range(const char *value, long long least, long long most, long long *from,
                        long long *to)
{
    const char *at = parse_number(value, most, from);
    if (!at || *at != '-')
        return false;
    at++;
    if (strcmp(at, "inf") == 0) {
        *to = most;
        return *from >= least;
    }
    at = parse_number(at, most, to);
    return at && *at == '\0' && *from >= least && *from <= *to;
}

static bool parse_rule_key(const char *key, const char *value, const char *token,
                           struct pl_rule *rule, struct pl_profile_error *error)
{
    long long from, to;
    if (strcmp(key, "function") == 0) {
        rule->function = pl_function_by_name(value);
        if (rule->function == PL_FUNCTION_COUNT)
            return fail(error, token, "unknown function");
    } else if (strcmp(key, "variant") == 0) {
        rule->variant = strcmp(value, pl_canary.name) == 0 ? &pl_canary : pl_variant_by_name(value);
        if (!rule->variant)
            return fail(error, token, "unknown variant; `probe --list` names the known ones");
    } else if (strcmp(key, "nprocs") == 0) {
        if (!parse_range(value, 1, INT_MAX, &from, &to))
            return fail(error, token, "not a range a-b or a-inf with 1 <= a <= b");
        rule->nprocs_from = (int)from;
        rule->nprocs_to = (int)to;
    } else { /* bytes */
        if (!parse_range(value, 0, LLONG_MAX, &from, &to))
            return fail(error, token, "not a range a-b or a-inf with 0 <= a <= b");
        rule->bytes_from = from;
        rule->bytes_to = to;
    }
    return true;
}

static bool parse_rule(char *rest, struct pl_rule *rule, struct pl_profile_error *error)
{
    static const char *const keys[] = {"function", "nprocs", "bytes", "variant"};
    enum { KEYS = sizeof keys / sizeof keys[0] };
    bool seen[KEYS] = {false};
    char *save = NULL;
    for (char *token = strtok_r(rest, blanks, &save); token;
         token = strtok_r(NULL, blanks, &save)) {
        char key[16];
        const size_t length = strcspn(token, "=");
        int k = 0;
        snprintf(key, sizeof key, "%.*s", length < sizeof key ? (int)length : 0, token);
        while (k < KEYS && strcmp(keys[k], key) != 0)
            k++;
        if (token[length] != '=' || k == KEYS)
            return fail(error, token, "not one of function=, nprocs=, bytes=, variant=");
        if (seen[k])
            return fail(error, token, "%s= stands twice in this rule", key);
        seen[k] = true;
        if (!parse_rule_key(key, token + length + 1, token, rule, error))
            return false;
    }
    for (int k = 0; k < KEYS; k++)
        if (!seen[k])
            return fail(error, "", "this rule has no %s=", keys[k]);
    if (rule->variant != &pl_canary && rule->variant->function != rule->function)
        return fail(error, rule->variant->name, "is a variant of %s, not of %s",
                    pl_function_name(rule->variant->function), pl_function_name(rule->function));
    return true;
}

static bool parse_library(char *rest, struct pl_profile *profile, struct pl_profile_error *error)
{
    static const char start[] = "version=\"";
    if (profile->library[0])
        return fail(error, rest, "a second library line");
    char *value = rest + sizeof start - 1;
    if (strncmp(rest, start, sizeof start - 1) != 0 || !strchr(value, '"'))
        return fail(error, rest, "not version=\"text\"");
    char *end = strchr(value, '"');
    if (end[1 + strspn(end + 1, blanks)] != '\0')
        return fail(error, end + 1, "text behind the closing quote");
    *end = '\0';
    if (end == value || (size_t)(end - value) >= sizeof profile->library)
        return fail(error, rest, "a version has 1 to %zu characters", sizeof profile->library - 1);
    strcpy(profile->library, value);
    return true;
}

static bool add_rule(struct pl_profile *profile, const struct pl_rule *rule,
                     struct pl_profile_error *error)
{
    for (int i = 0; i < profile->count; i++) {
        const struct pl_rule *other = &profile->rules[i];
        if (other->function == rule->function && other->nprocs_from <= rule->nprocs_to &&
            rule->nprocs_from <= other->nprocs_to && other->bytes_from <= rule->bytes_to &&
            rule->bytes_from <= other->bytes_to)
            return fail(error, "", "overlaps with the rule on line %d", other->line);
    }
    struct pl_rule *rules =
        realloc(profile->rules, (size_t)(profile->count + 1) * sizeof *profile->rules);
    if (!rules)
        return fail(error, "", "out of memory");
    profile->rules = rules;
    profile->rules[profile->count++] = *rule;
    return true;
}

static bool parse_line(char *line, struct pl_profile *profile, struct pl_profile_error *error)
{
    for (const char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' && *at != '\t')
            return fail(error, "", "control character (code %d)", *at);
    if (error->line == 1)
        return strcmp(line, "plumbline-profile 1") == 0 ||
               fail(error, line, "the first line must be: plumbline-profile 1");
    char *word = line + strspn(line, blanks);
    if (*word == '\0' || *word == '#')
        return true;
    char *rest = word + strcspn(word, blanks);
    if (*rest)
        *rest++ = '\0';
    rest += strspn(rest, blanks);
    if (strcmp(word, "library") == 0)
        return parse_library(rest, profile, error);
    if (strcmp(word, "rule") == 0) {
        struct pl_rule rule = {.line = error->line};
        return parse_rule(rest, &rule, error) && add_rule(profile, &rule, error);
    }
    return fail(error, word, "not `rule`, `library` or a comment");
}

bool pl_profile_parse(char *text, size_t length, struct pl_profile *profile,
                      struct pl_profile_error *error)
{
    *profile = (struct pl_profile){.library = ""};
    *error = (struct pl_profile_error){.line = 1};
    if (strlen(text) != length)
        return fail(error, "", "not a text file: it holds a zero byte");
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
