/* Plans that stand in the test, parsed as on 4 ranks. What a line of a test does not say is added
 * to it, so that each test shows the keys that it is about. */
#ifndef TEST_PLANS_H
#define TEST_PLANS_H

#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "plumbline-plan 1\n"

static struct pl_plan plan;
static struct pl_plan_error error;

static const struct {
    const char *word, *keys[14];
} usual[] = {
    {"set",
     {"run=unnamed", "seed=1", "warmup=16", "rewarm=1", "sync=barrier", "clock=monotonic_raw",
      "clock_sync=hca3", "clock_fit_ms=500", "clock_multiple=10", "runtime=local",
      "knobs=communicator", "cache=warm", "window_us=0"}},
    {"case",
     {"variant=default", "config=default", "type=MPI_BYTE", "op=MPI_BOR", "root=0",
      "counts=equal"}},
    {"pingpong", {"reps=100"}},
    {"overlap", {"kernel=registers", "test_ns=0", "requests=1", "triples=50"}},
};

static inline bool has(const char *line, size_t length, const char *key)
{
    const size_t size = strcspn(key, "=") + 1;
    for (size_t i = 1; i + size <= length; i++)
        if (strchr(" \t", line[i - 1]) && memcmp(line + i, key, size) == 0)
            return true;
    return false;
}

/* The keys that are missing behind the line; returns where the text ends. */
static inline char *complete_line(const char *line, size_t length, char *end, bool bounded,
                                  bool repeats)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const size_t word = strlen(usual[i].word);
        if (length < word || memcmp(line, usual[i].word, word) != 0 ||
            (length > word && !strchr(" \t", line[word])))
            continue;
        for (int k = 0; usual[i].keys[k]; k++)
            if (!has(line, length, usual[i].keys[k]))
                end += sprintf(end, " %s", usual[i].keys[k]);
        if (i == 0 && bounded)
            for (int k = 0; k < 3; k++) {
                static const char *const bounds[] = {"nrep_min=20", "nrep_step=10",
                                                     "nrep_max=1000"};
                if (!has(line, length, bounds[k]))
                    end += sprintf(end, " %s", bounds[k]);
            }
        if (i == 0 && !bounded && !has(line, length, "blocks="))
            end += sprintf(end, " blocks=5");
        if (i == 0 && repeats && !has(line, length, "budget_ms="))
            end += sprintf(end, " budget_ms=2000");
        if (i == 1 && has(line, length, "calls=")) {
            const char *bytes = strstr(line, "bytes=") + 6;
            const int digits = (int)strspn(bytes, "0123456789");
            if (!has(line, length, "least="))
                end += sprintf(end, " least=%.*s", digits, bytes);
            if (!has(line, length, "mean="))
                end += sprintf(end, " mean=%.*s", digits, bytes);
        } else if (i == 1 && !bounded && !has(line, length, "reps=")) {
            end += sprintf(end, " reps=10");
        }
    }
    return end;
}

static inline bool parse_as_it_stands(const char *text, size_t size, int nprocs)
{
    char *copy = malloc(size + 1);
    pl_plan_free(&plan);
    memcpy(copy, text, size);
    return pl_plan_parse(&plan, copy, size, nprocs, &error);
}

static inline bool parse_bytes(const char *text, size_t size, int nprocs)
{
    const bool rule = has(text, size, "nrep=") || has(text, size, "nrep_min=");
    const bool bounded = rule && !has(text, size, "blocks=");
    const bool repeats = strstr(text, " sync=window") || strstr(text, " sync=roundtime") ||
                         strstr(text, "use=synchronised") || strstr(text, "use=late");
    char *copy = malloc(8 * size + 4096), *end = copy;
    pl_plan_free(&plan);
    for (const char *line = text; line < text + size;) {
        const char *newline = memchr(line, '\n', (size_t)(text + size - line));
        const size_t length = (size_t)((newline ? newline : text + size) - line);
        memcpy(end, line, length);
        end = complete_line(line, length, end + length, bounded, repeats);
        if (newline)
            *end++ = '\n';
        line += length + 1;
    }
    if (!strstr(text, "\nset ")) {
        const char *set = "set";
        end += sprintf(end, "\nset");
        end = complete_line(set, 3, end, bounded, repeats);
    }
    return pl_plan_parse(&plan, copy, (size_t)(end - copy), nprocs, &error);
}

static inline bool parse(const char *text)
{
    return parse_bytes(text, strlen(text), 4);
}

#endif
