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

/* An object of JSON that is still open. */
static void put_rule(FILE *out, const struct pl_rule *rule)
{
    fprintf(out, "\n  {\"line\":%d,\"function\":\"%s\"", rule->line,
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
    fputc('"', out);
}

static void put_rules(FILE *out)
{
    const int count = pl_state.rules ? pl_state.profile.count : 0;
    for (int i = 0; i < count; i++) {
        fputs(i ? "," : "", out);
        put_rule(out, pl_state.rules[i].rule);
        fprintf(out, ",\"replaced\":%lld,\"nearest\":%lld,\"inner\":%lld}",
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

static void put_head(FILE *out, const char *kind)
{
    fprintf(out, "{\"%s\":1,\"version\":\"" PL_VERSION "\",\"profile\":", kind);
    if (pl_state.path)
        put_string(out, pl_state.path);
    else
        fputs("null", out);
}

static void put_report(FILE *out, const struct pl_outcome *outcomes)
{
    int nprocs = 0;
    (void)outcomes;
    PMPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    put_head(out, "plumbline_report");
    fprintf(out, ",\"in_force\":%s,\"reason\":", pl_state.rules ? "true" : "false");
    put_string(out, pl_state.reason);
    fprintf(out, ",\"nprocs\":%d,\n \"memory\":%zu,\"communicators\":%d,\n \"rules\":[", nprocs,
            pl_scratch_held(), pl_private_made());
    put_rules(out);
    fputs("],\n \"functions\":[", out);
    put_functions(out);
    fputs("]}\n", out);
}

/* The outcome of several rules: sums, and means of times by calls. */
static void add_up(struct pl_outcome *all, const struct pl_outcome *outcome)
{
    const double before = all->measured ? all->compared : 0;
    if (outcome->ranks > all->ranks)
        all->ranks = outcome->ranks;
    all->replaced += outcome->replaced;
    all->controlled += outcome->controlled;
    if (!outcome->measured)
        return;
    const double calls = before + outcome->compared;
    all->replaced_ns =
        (all->replaced_ns * before + outcome->replaced_ns * outcome->compared) / calls;
    all->library_ns = (all->library_ns * before + outcome->library_ns * outcome->compared) / calls;
    all->compared = calls;
    all->measured = true;
    all->saving += outcome->saving;
    all->half += outcome->half;
}

static void put_saving(FILE *out, bool measured, double saving, double half)
{
    const char *const keys[] = {"", "_from", "_to"};
    for (int i = 0; i < 3; i++)
        if (measured)
            fprintf(out, ",\"saving%s_seconds\":%.9f", keys[i],
                    saving + (i == 1   ? -half
                              : i == 2 ? half
                                       : 0));
        else
            fprintf(out, ",\"saving%s_seconds\":null", keys[i]);
}

/* The ends of the whole interval are the sums of the ends of all. */
static void put_control(FILE *out, const struct pl_outcome *outcomes)
{
    int nprocs = 0;
    bool more = false;
    struct pl_outcome whole = {0};
    PMPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    put_head(out, "plumbline_control");
    fprintf(out, ",\"nprocs\":%d,\"share\":%.12g,\"seed\":%u,\"confidence\":%.2f,\n \"rules\":[",
            nprocs, pl_state.share, pl_state.seed, PL_CONFIDENCE);
    for (int i = 0; i < pl_state.profile.count; i++) {
        const struct pl_outcome *outcome = &outcomes[i];
        if (outcome->ranks == 0)
            continue;
        add_up(&whole, outcome);
        fputs(more ? "," : "", out);
        put_rule(out, pl_state.rules[i].rule);
        fprintf(out, ",\"ranks\":%d,\"replaced\":%.0f,\"controlled\":%.0f", outcome->ranks,
                outcome->replaced, outcome->controlled);
        if (outcome->measured)
            fprintf(out, ",\"replaced_ns\":%.1f,\"library_ns\":%.1f", outcome->replaced_ns,
                    outcome->library_ns);
        else
            fputs(",\"replaced_ns\":null,\"library_ns\":null", out);
        put_saving(out, outcome->measured, outcome->saving, outcome->half);
        fputs(",\"switched_off_at\":", out);
        put_end(out, outcome->off_at, -1);
        fputc('}', out);
        more = true;
    }
    fputs("]", out);
    put_saving(out, whole.measured, whole.saving, whole.half);
    fputs("}\n", out);
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

static size_t put_compared(char *line, size_t room, enum pl_function function,
                           const struct pl_outcome *all)
{
    char took[2][32] = {"", ""};
    if (all->measured) {
        snprintf(took[0], sizeof took[0], " (%.2f us each)", all->replaced_ns / 1000);
        snprintf(took[1], sizeof took[1], " (%.2f us each)", all->library_ns / 1000);
    }
    return (size_t)snprintf(
        line, room, "; %.0f calls of %s were replaced%s, %.0f went to the library%s", all->replaced,
        pl_function_name(function), took[0], all->controlled, took[1]);
}

/* Where calls were compared: what became of them, a function's mean times, and the saving of all
 * rules, in one line. */
static void say_saving(const struct pl_outcome *outcomes)
{
    char line[2048] = "";
    size_t length = 0;
    struct pl_outcome whole = {0};
    int off = 0;
    for (int f = 0; f < PL_FUNCTION_COUNT && length < sizeof line; f++) {
        struct pl_outcome all = {0};
        for (int i = 0; i < pl_state.profile.count; i++)
            if (pl_state.rules[i].rule->function == (enum pl_function)f && outcomes[i].ranks > 0) {
                add_up(&all, &outcomes[i]);
                off += outcomes[i].off_at >= 0;
            }
        if (all.ranks == 0)
            continue;
        length += put_compared(line + length, sizeof line - length, (enum pl_function)f, &all);
        add_up(&whole, &all);
    }
    if (whole.ranks == 0)
        fputs("plumbline: no call was replaced, as no function was called that a rule is for\n",
              stderr);
    else if (!whole.measured)
        fprintf(stderr, "plumbline: too few calls to measure what the profile saves%s", line);
    else {
        const double sign = whole.saving < 0 ? -1 : 1;
        fprintf(stderr, "plumbline: the profile %s %.3g s on each rank (95 %%: %.3g to %.3g s)%s",
                whole.saving < 0 ? "cost" : "saved", sign * whole.saving,
                sign * whole.saving - whole.half, sign * whole.saving + whole.half, line);
    }
    if (whole.ranks > 0)
        fprintf(stderr, off ? "; rules switched off, as they were slower: %d\n" : "\n", off);
}

/* Where exported files ask for it (PLUMBLINE_SAY=replaced): what became of the calls that rules are
 * for, in one line. */
static void say_replaced(const struct pl_outcome *outcomes)
{
    const char *say = getenv("PLUMBLINE_SAY");
    if (!say || strcmp(say, "replaced") != 0 || !pl_state.rules || pl_state.spawned)
        return;
    if (outcomes) {
        say_saving(outcomes);
        return;
    }
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

/* What lies at `path` is replaced if it is a plain file; a rename would replace a device. */
static void write_file(const char *path, const char *what,
                       void (*put)(FILE *out, const struct pl_outcome *outcomes),
                       const struct pl_outcome *outcomes)
{
    struct stat there;
    char part[PATH_MAX];
    if (!path || !*path)
        return;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        fprintf(stderr, "plumbline: cannot write the %s %s: not a plain file\n", what, path);
        return;
    }
    errno = ENAMETOOLONG;
    FILE *out =
        snprintf(part, sizeof part, "%s.part", path) < (int)sizeof part ? new_file(part) : NULL;
    bool whole = out != NULL;
    if (out) {
        put(out, outcomes);
        whole = !ferror(out);
        whole = fclose(out) == 0 && whole;
    }
    if (!whole || rename(part, path) != 0)
        fprintf(stderr, "plumbline: cannot write the %s %s: %s\n", what, path, strerror(errno));
}

void pl_write_report(void)
{
    int rank = -1;
    const struct pl_outcome *outcomes = pl_control_end();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0)
        return;
    say_crowded();
    say_replaced(outcomes);
    if (pl_state.spawned) /* with the variables of those who write the files */
        return;
    write_file(getenv("PLUMBLINE_REPORT"), "report", put_report, NULL);
    if (outcomes)
        write_file(getenv("PLUMBLINE_CONTROL_OUT"), "record of compared calls", put_control,
                   outcomes);
    else if (pl_state.share > 0)
        fputs("plumbline: what calls compared could not be added up\n", stderr);
}
