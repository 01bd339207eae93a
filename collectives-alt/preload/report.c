/* What rank 0 saw: a line on standard error, and the file PLUMBLINE_REPORT names, as JSON, so that
 * a launcher can prove that a profile was in force. Written to a temporary name and renamed. */
#include "classes.h"
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < ' ')
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

/* An end of a range; null is `inf`. */
static void put_end(FILE *out, long long value, long long infinite)
{
    if (value == infinite)
        fputs("null", out);
    else
        fprintf(out, "%lld", value);
}

/* As a rule names it; every parameter with its value. */
static void put_spec(FILE *out, const struct pl_spec *spec)
{
    fputs(spec->variant->name, out);
    for (int i = 0; i < PL_PARAMETERS_MAX && spec->variant->parameters[i].name; i++)
        fprintf(out, "%c%s=%d", i ? ',' : ':', spec->variant->parameters[i].name, spec->values[i]);
}

static void put_range(FILE *out, const char *key, struct pl_interval range, long long infinite)
{
    fprintf(out, ",\"%s_from\":%lld,\"%s_to\":", key, range.from, key);
    put_end(out, range.to, infinite);
}

struct words {
    FILE *out;
    bool more;
};

static void put_word(void *to, const char *word)
{
    struct words *words = to;
    fprintf(words->out, "%s%s", words->more ? "," : "", word);
    words->more = true;
}

static void put_rules(FILE *out)
{
    const int count = pl_state.rules ? pl_state.profile.count : 0;
    for (int i = 0; i < count; i++) {
        const struct pl_rule *rule = pl_state.rules[i].rule;
        fprintf(out, "%s\n  {\"line\":%d,\"function\":\"%s\"", i ? "," : "", rule->line,
                pl_function_name(rule->function));
        put_range(out, "nprocs", rule->nprocs, INT_MAX);
        put_range(out, "nodes", rule->nodes, INT_MAX);
        put_range(out, "ppn", rule->ppn, INT_MAX);
        put_range(out, "bytes", rule->bytes, LLONG_MAX);
        fputs(",\"op\":\"", out);
        pl_op_words(rule->ops, put_word, &(struct words){.out = out});
        fputs("\",\"type\":\"", out);
        pl_type_words(rule->types, put_word, &(struct words){.out = out});
        fprintf(out, "\",\"counts\":\"%s\",\"variant\":\"", rule->equal_counts ? "equal" : "any");
        put_spec(out, &rule->spec);
        fprintf(out, "\",\"replaced\":%lld,\"nearest\":%lld,\"inner\":%lld}",
                atomic_load(&pl_state.rules[i].replaced), atomic_load(&pl_state.rules[i].nearest),
                atomic_load(&pl_state.rules[i].inner));
    }
}

/* Those with a rule and those that were called. */
static void put_functions(FILE *out)
{
    const char *separator = "";
    for (int f = 0; f < PL_FUNCTION_COUNT; f++) {
        const struct pl_function_state *state = &pl_state.functions[f];
        const long long calls = atomic_load(&state->calls),
                        replaced = atomic_load(&state->replaced);
        if (state->count == 0 && calls == 0)
            continue;
        fprintf(out,
                "%s\n  {\"function\":\"%s\",\"calls\":%lld,\"replaced\":%lld,"
                "\"fallen_through\":%lld,\"crowded\":%lld,\"bytes\":",
                separator, pl_function_name((enum pl_function)f), calls, replaced, calls - replaced,
                atomic_load(&state->crowded));
        if (pl_has_volume((enum pl_function)f))
            fprintf(out, "%lld}", atomic_load(&state->bytes));
        else
            fputs("null}", out);
        separator = ",";
    }
}

/* What lies there, of a process that was killed or of somebody else, is not written to. */
static FILE *new_file(const char *name)
{
    unlink(name);
    const int handle = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return handle < 0 ? NULL : fdopen(handle, "w");
}

static bool write_file(const char *name)
{
    int nprocs = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    FILE *out = new_file(name);
    if (!out)
        return false;
    fputs("{\"plumbline_report\":1,\"version\":\"" PL_VERSION "\",\"profile\":", out);
    if (pl_state.path)
        put_string(out, pl_state.path);
    else
        fputs("null", out);
    fprintf(out, ",\"in_force\":%s,\"reason\":", pl_state.rules ? "true" : "false");
    put_string(out, pl_state.reason);
    fprintf(out, ",\"nprocs\":%d,\n \"memory\":%zu,\"communicators\":%d,\n \"rules\":[", nprocs,
            pl_scratch_held(), pl_private_made());
    put_rules(out);
    fputs("],\n \"functions\":[", out);
    put_functions(out);
    fputs("]}\n", out);
    const bool whole = !ferror(out);
    return fclose(out) == 0 && whole;
}

/* An application that makes more communicators than that is not as fast as its profile says. */
static void say_crowded(void)
{
    long long crowded = 0;
    for (int f = 0; f < PL_FUNCTION_COUNT; f++)
        crowded += atomic_load(&pl_state.functions[f].crowded);
    if (crowded > 0)
        fprintf(stderr,
                "plumbline: %lld calls were left to the library, for want of private communicators "
                "(a process has at most %d: the line `communicators` of a profile)\n",
                crowded, pl_state.profile.communicators);
}

/* Where exported files ask for it (PLUMBLINE_SAY=replaced): what became of the calls that rules are
 * for, in one line. */
static void say_replaced(void)
{
    const char *say = getenv("PLUMBLINE_SAY");
    if (!say || strcmp(say, "replaced") != 0 || !pl_state.rules || pl_state.spawned)
        return;
    char line[1024] = "";
    size_t length = 0;
    for (int f = 0; f < PL_FUNCTION_COUNT && length < sizeof line; f++) {
        const struct pl_function_state *state = &pl_state.functions[f];
        if (state->count > 0 && atomic_load(&state->calls) > 0)
            length +=
                (size_t)snprintf(line + length, sizeof line - length, "%s %lld of %lld calls of %s",
                                 length ? "," : "", atomic_load(&state->replaced),
                                 atomic_load(&state->calls), pl_function_name((enum pl_function)f));
    }
    fprintf(stderr, "plumbline: replaced on rank 0:%s\n",
            length ? line : " nothing, as no function was called that a rule is for");
}

void pl_write_report(void)
{
    int rank = -1;
    const char *path = getenv("PLUMBLINE_REPORT");
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0)
        return;
    say_crowded();
    say_replaced();
    if (!path || !*path)
        return;
    if (pl_state.spawned) /* with the variables of those who write the file */
        return;
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) { /* a rename would replace a device */
        fprintf(stderr, "plumbline: cannot write the report %s: not a plain file\n", path);
        return;
    }
    char part[PATH_MAX];
    const int length = snprintf(part, sizeof part, "%s.part", path);
    errno = ENAMETOOLONG;
    if (length >= (int)sizeof part || !write_file(part) || rename(part, path) != 0)
        fprintf(stderr, "plumbline: cannot write the report %s: %s\n", path, strerror(errno));
}
