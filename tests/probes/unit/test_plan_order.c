/* The order of keys means nothing: any order of the keys of a set line, of a case line, and of the
 * lines themselves gives the same plan. Predecessors parse their options once a module, and one
 * module's "unknown option" puts back what another has set. */
#include "check.h"

#include "clock/algorithms/algorithms.h"
#include "measure/plain.h"
#include "measure/random.h"
#include "plan_parser.h"
#include "plans.h"
#include "use/use.h"

#include <inttypes.h>

enum { SHUFFLES = 2000, MOST = 32 };

/* One value for each key, none of them the default. Only a simulated machine has cycles. A stopping
 * rule stands in place of blocks, a plain loop in place of global run times, of what belongs to
 * start schemes, and of ways of use. */
static const char *const set_tokens[] = {
    "run=r",
    "seed=77",
    "blocks=3",
    "warmup=2",
    "rewarm=4",
    "settle=44",
    "cycle=6",
    "sync=window",
    "clock=monotonic",
    "clock_sync=skampi",
    "clock_fit_ms=33",
    "clock_multiple=7",
    "runtime=global",
    "knobs=call",
    "window_us=250",
    "cache=overwrite",
    "budget_ms=1234",
    "nrep=rse:0.5,cov_mean:0.25/9",
    "nrep_min=5",
    "nrep_step=6",
    "nrep_max=40",
    "plain=series",
    "arrival=uniform:909",
    "use=loop",
};
static const char *const case_tokens[] = {
    "id=4",
    "function=MPI_Reduce_scatter",
    "variant=reduce_scatter_as_allreduce",
    "config=c1",
    "bytes=808",
    "type=MPI_INT",
    "op=MPI_MAX",
    "root=2",
    "counts=last",
    "ranks=3",
    "reps=9",
    "delay_ns=55",
    "use=loop",
    "by_rank=1",
    "calls=7",
    "least=404",
    "mean=606",
};
enum {
    SET_TOKENS = sizeof set_tokens / sizeof *set_tokens,
    CASE_TOKENS = sizeof case_tokens / sizeof *case_tokens,
    TIMED_TOKENS = CASE_TOKENS - 3, /* of a case that is no trial */
};

struct text {
    char at[4096];
    size_t used;
};

static void add(struct text *text, const char *what)
{
    text->used += (size_t)snprintf(text->at + text->used, sizeof text->at - text->used, "%s", what);
}

static void add_line(struct text *text, const char *word, const char *const *tokens, int count)
{
    add(text, word);
    for (int i = 0; i < count; i++) {
        add(text, " ");
        add(text, tokens[i]);
    }
    add(text, "\n");
}

static void describe_rule(struct text *text, const struct pl_nrep_rule *rule)
{
    char line[256];
    snprintf(line, sizeof line, "%d %d %d", rule->least, rule->step, rule->most);
    add(text, line);
    for (int i = 0; i < rule->count; i++) {
        const struct pl_nrep_condition *one = &rule->conditions[i];
        snprintf(line, sizeof line, " %s %g %d", one->criterion->name, one->threshold, one->window);
        add(text, line);
    }
    add(text, "\n");
}

/* All that a plan holds, as text; or why it was refused. */
static void describe(const char *source, struct text *text)
{
    char line[512];
    text->used = 0;
    if (!parse(source)) {
        snprintf(line, sizeof line, "line %d %.100s: %.300s", error.line, error.token, error.why);
        add(text, line);
    } else {
        snprintf(line, sizeof line,
                 "%s %" PRIu64 " %d %d %d %d %s %s %s %d %d %d %d %" PRId64 " %d %" PRId64
                 " %s %d %" PRId64 " %s\n",
                 plan.run, plan.seed, plan.blocks, plan.warmup, plan.rewarm, plan.settle,
                 plan.sync->name, plan.clock->name, plan.clock_sync->name, plan.clock_fit_ms,
                 plan.clock_multiple, (int)plan.runtime, (int)plan.knobs, plan.window_us,
                 (int)plan.cache, plan.budget_ms, plan.plain ? plan.plain->name : "-",
                 (int)plan.arrivals.kind, plan.arrivals.ns, plan.use ? plan.use->name : "-");
        add(text, line);
        describe_rule(text, &plan.nrep);
        for (int i = 0; i < plan.case_count; i++) {
            const struct pl_case *c = &plan.cases[i];
            snprintf(line, sizeof line,
                     "%d %d %s %d %d %lld %d %d %d %d %d %" PRId64 " %d %s %d %d %lld %lld\n",
                     c->id, (int)c->function, c->variant_name, c->variant != NULL, c->config,
                     c->bytes, c->type, c->op, c->root, (int)c->counts, c->reps, c->delay_ns,
                     c->ranks, c->use ? c->use->name : "-", c->by_rank, c->calls, c->least,
                     c->mean);
            add(text, line);
        }
    }
}

#define PLAIN "config id=c1 knob=1\ncase id=0 function=MPI_Bcast bytes=8\n"
#define LATE PLAIN "case id=1 function=MPI_Bcast bytes=8 use=late\n"

static const char *other_lines = LATE;

static void plan_text(struct text *text, const char *word, const char *const *tokens, int count,
                      bool above)
{
    text->used = 0;
    add(text, FIRST);
    if (above)
        add_line(text, word, tokens, count);
    add(text, other_lines);
    if (!above)
        add_line(text, word, tokens, count);
}

/* Rotations, which put each key first and last, back to front too; then shuffles. */
static bool same_in_any_order(const char *word, const char *const *tokens, int count, bool movable)
{
    static struct text source, wanted, got;
    const char *order[MOST];
    int numbers[MOST];
    struct pl_random random = pl_random_stream(1, 2, 3);
    plan_text(&source, word, tokens, count, false);
    describe(source.at, &wanted);
    if (strncmp(wanted.at, "line ", 5) == 0) {
        printf("# refused: %s\n", wanted.at);
        return false;
    }
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    for (int round = 0; round < 2 * count + SHUFFLES; round++) {
        if (round >= 2 * count)
            pl_random_shuffle(&random, numbers, count);
        for (int i = 0; i < count; i++) {
            int turned = (i + round) % count;
            order[i] = tokens[round >= 2 * count ? numbers[i]
                              : round >= count   ? count - 1 - turned
                                                 : turned];
        }
        plan_text(&source, word, order, count, movable && round % 2 == 0);
        describe(source.at, &got);
        if (strcmp(wanted.at, got.at) != 0) {
            printf("# %s# wanted %s# got    %s", source.at, wanted.at, got.at);
            return false;
        }
    }
    return true;
}

/* Without those that begin so; each key that stays changes the plan, so its loss would be seen. */
static int without(const char *const *tokens, int count, const char **kept,
                   const char *const *beginnings)
{
    int some = 0;
    for (int i = 0; i < count; i++) {
        const char *const *left_out = beginnings;
        while (*left_out && strncmp(tokens[i], *left_out, strlen(*left_out)) != 0)
            left_out++;
        if (!*left_out)
            kept[some++] = tokens[i];
    }
    return some;
}

#define WITHOUT(tokens, count, kept, ...)                                                          \
    without(tokens, count, kept, (const char *const[]){__VA_ARGS__, NULL})

static bool names_all(const struct pl_line_kind *line, const char *const *tokens, int count)
{
    const struct pl_key *key = line->keys;
    for (; key->name; key++) {
        int found = 0;
        size_t length = strlen(key->name);
        for (int i = 0; i < count; i++)
            found += strncmp(tokens[i], key->name, length) == 0 && tokens[i][length] == '=';
        if (found != 1) {
            printf("# add a value for the key %s to this test\n", key->name);
            return false;
        }
    }
    return key - line->keys == count;
}

/* A plan with one key less is another plan. Without `sync` it is refused for what belongs to it. */
static bool each_key_counts(const char *const *tokens, int count)
{
    static struct text source, all, fewer;
    const char *kept[MOST];
    plan_text(&source, "set", tokens, count, false);
    describe(source.at, &all);
    for (int i = 0; i < count; i++) {
        int some = 0;
        for (int j = 0; j < count; j++)
            if (j != i)
                kept[some++] = tokens[j];
        plan_text(&source, "set", kept, some, false);
        describe(source.at, &fewer);
        bool needed = strcmp(tokens[i], "sync=window") == 0;
        if (strcmp(all.at, fewer.at) == 0 || needed != (strncmp(fewer.at, "line ", 5) == 0)) {
            printf("# without %s: %s", tokens[i], fewer.at);
            return false;
        }
    }
    return true;
}

int main(void)
{
    const char *blocks[MOST], *fixed[MOST], *ruled[MOST], *loops[MOST], *trial[MOST];
    const int block_count = WITHOUT(set_tokens, SET_TOKENS, blocks, "cycle", "plain");
    const int fixed_count = WITHOUT(blocks, block_count, fixed, "nrep");
    const int ruled_count = WITHOUT(blocks, block_count, ruled, "blocks");
    const int loop_count =
        WITHOUT(set_tokens, SET_TOKENS, loops, "cycle", "nrep", "settle", "runtime", "sync",
                "clock_", "window_us", "budget_ms", "cache", "arrival", "use");
    CHECK(names_all(&pl_line_set, set_tokens, SET_TOKENS));
    CHECK(names_all(&pl_line_case, case_tokens, CASE_TOKENS));
    CHECK(each_key_counts(fixed, fixed_count));
    CHECK(same_in_any_order("set", fixed, fixed_count, true));
    CHECK(same_in_any_order("set", ruled, ruled_count, true));
    CHECK(same_in_any_order("case", case_tokens, TIMED_TOKENS, false));
    const int trial_count =
        WITHOUT(case_tokens, CASE_TOKENS, trial, "reps", "delay_ns", "use", "by_rank", "counts");
    CHECK(same_in_any_order("case", trial, trial_count, false));
    other_lines = PLAIN;
    CHECK(each_key_counts(loops, loop_count));
    CHECK(same_in_any_order("set", loops, loop_count, true));
    pl_plan_free(&plan);
    return check_done();
}
