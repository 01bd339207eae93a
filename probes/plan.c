/* Lines, words and tokens of a plan. Tables in plan_set.c, plan_case.c, … say what each key means.
 */
#include "plan.h"

#include "plan_parser.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\v\f"
#define FIRST_LINE "plumbline-plan 1"

static const struct pl_line_kind *const lines[] = {&pl_line_set,      &pl_line_config,
                                                   &pl_line_case,     &pl_line_messages,
                                                   &pl_line_pingpong, &pl_line_overlap};
enum { LINES = sizeof lines / sizeof *lines };

static void at_token(struct pl_parser *parser, const char *token)
{
    snprintf(parser->error->token, sizeof parser->error->token, "%s", token);
}

/* Cut "key=value" in two; returns the value. */
static char *cut(struct pl_parser *parser, char *token)
{
    at_token(parser, token);
    char *equals = strchr(token, '=');
    if (!equals || equals == token || equals[1] == '\0') {
        pl_refuse(parser, "write key=value without blanks around or in it");
        return NULL;
    }
    *equals = '\0';
    return equals + 1;
}

static bool refuse_unknown(struct pl_parser *parser)
{
    char keys[320] = "";
    size_t used = 0;
    for (const struct pl_key *key = parser->line->keys; key->name && used < sizeof keys; key++)
        used += (size_t)snprintf(keys + used, sizeof keys - used, " %s", key->name);
    return pl_refuse(parser, "'%s' has no such key; it has:%s", parser->line->word, keys);
}

static bool is_complete(struct pl_parser *parser)
{
    for (const struct pl_key *key = parser->line->keys; key->name; key++)
        if (key->flags & PL_NEEDED && !pl_given(parser, key->name))
            return pl_refuse_missing(parser, key->name);
    return true;
}

/* Reads the tokens that follow the word of a line; none may stand twice. */
static bool take_tokens(struct pl_parser *parser, void *item, char **rest)
{
    const struct pl_line_kind *line = parser->line;
    uint32_t *given = line == &pl_line_set ? &parser->given_by_set : &parser->given;
    for (char *token; (token = strtok_r(NULL, BLANKS, rest));) {
        char *value = cut(parser, token);
        if (!value)
            return false;
        const struct pl_key *key = pl_key_of(line, token);
        if (!key->name) {
            if (!(line->take_other ? line->take_other(parser, item, token, value)
                                   : refuse_unknown(parser)))
                return false;
            continue;
        }
        if (*given >> (key - line->keys) & 1)
            return pl_refuse(parser, "key '%s' stands twice; leave one", token);
        *given |= 1u << (key - line->keys);
        if (!pl_take_value(parser, key, item, value))
            return false;
    }
    at_token(parser, line->word);
    return line == &pl_line_set || is_complete(parser); /* other lines may have them */
}

static bool take_line(struct pl_parser *parser, char *text)
{
    char *rest, *word = strtok_r(text, BLANKS, &rest), *plan = (char *)parser->plan;
    const struct pl_line_kind *line = NULL;
    if (!word || *word == '#')
        return true;
    at_token(parser, word);
    for (int i = 0; i < LINES; i++)
        if (strcmp(lines[i]->word, word) == 0)
            line = lines[i];
    if (!line)
        return pl_refuse(parser,
                         "a line starts with set, config, case, messages, pingpong, overlap or #");
    void *item = line == &pl_line_set ? (void *)parser->plan : &parser->messages;
    if (line->size > 0)
        item = pl_append(parser, plan + line->items, (int *)(plan + line->count), line->size);
    if (!item)
        return false;
    memcpy(item, &parser->error->line, sizeof parser->error->line);
    parser->given = 0;
    pl_at(parser, line, item);
    return take_tokens(parser, item, &rest) && (!line->finish || line->finish(parser, item));
}

/* Knobs are the keys of a config that are in no table. */
static bool take_knob(struct pl_parser *parser, void *item, const char *name, const char *value)
{
    struct pl_config *config = item;
    if (!config->id)
        return pl_refuse(parser, "a config starts with id=…; knobs follow it");
    for (int i = 0; i < config->knob_count; i++)
        if (strcmp(config->knobs[i].name, name) == 0)
            return pl_refuse(parser, "knob '%s' stands twice; leave one", name);
    struct pl_knob *knob =
        pl_append(parser, &config->knobs, &config->knob_count, sizeof *config->knobs);
    if (knob)
        *knob = (struct pl_knob){name, value};
    return knob;
}

static bool take_config_id(struct pl_parser *parser, void *item, const char *id)
{
    const struct pl_config *configs = parser->plan->configs;
    for (int i = 0; &configs[i] != item; i++)
        if (strcmp(configs[i].id, id) == 0)
            return pl_refuse(parser, "%s",
                             i == PL_CONFIG_DEFAULT
                                 ? "'default' is MPI_COMM_WORLD itself; choose another id"
                                 : "this id was given before; choose another");
    return true;
}

const struct pl_line_kind pl_line_config = {
    .word = "config",
    .keys =
        (const struct pl_key[]){
            {PL_TEXT(struct pl_config, "id", id, PL_NEEDED, take_config_id)},
            {0},
        },
    PL_ITEMS(configs, config_count, struct pl_config),
    .take_other = take_knob,
};

static const struct pl_key pingpong_keys[] = {
    {PL_NUMBER(struct pl_pingpong, "bytes", bytes, PL_NEEDED, 0, INT_MAX)},
    {PL_NUMBER(struct pl_pingpong, "reps", reps, PL_NEEDED, 1, INT_MAX)},
    {0},
};

const struct pl_line_kind pl_line_pingpong = {
    .word = "pingpong",
    .keys = pingpong_keys,
    PL_ITEMS(pingpongs, pingpong_count, struct pl_pingpong),
    .unique = true,
};

struct numbered {
    int number, line;
    const void *item;
};

static int by_number(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    return a->number != b->number ? (a->number > b->number) - (a->number < b->number)
                                  : a->line - b->line;
}

static bool are_unique(struct pl_parser *parser, const struct pl_line_kind *line)
{
    const char *items, *key = line->keys->name;
    int count;
    memcpy(&items, (const char *)parser->plan + line->items, sizeof items);
    memcpy(&count, (const char *)parser->plan + line->count, sizeof count);
    struct numbered *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    if (!sorted)
        return pl_refuse(parser, "out of memory; split the plan");
    for (int i = 0; i < count; i++) {
        sorted[i].item = items + (size_t)i * line->size;
        memcpy(&sorted[i].line, sorted[i].item, sizeof sorted[i].line);
        memcpy(&sorted[i].number, (const char *)sorted[i].item + line->keys->offset,
               sizeof sorted[i].number);
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_number);
    bool unique = true;
    for (int i = 1; unique && i < count; i++)
        if (sorted[i].number == sorted[i - 1].number) {
            pl_at(parser, line, sorted[i].item);
            unique = pl_refuse_key(parser, key, "line %d has the same %s; choose another",
                                   sorted[i - 1].line, key);
        }
    free(sorted);
    return unique;
}

static bool finish(struct pl_parser *parser)
{
    struct pl_plan *plan = parser->plan;
    parser->error->line = 0;
    at_token(parser, "case");
    if (plan->case_count == 0 && plan->config_count == 1 && plan->pingpong_count == 0 &&
        plan->overlap_count == 0)
        return pl_refuse(parser, "there is none; add a line 'case id=0 function=… bytes=…'");
    at_token(parser, "set");
    if (plan->line == 0)
        return pl_refuse(parser, "there is none; add a line 'set run=… seed=… …'");
    pl_at(parser, &pl_line_set, plan);
    if (!is_complete(parser))
        return false;
    for (int i = 0; i < LINES; i++)
        if (lines[i]->unique && !are_unique(parser, lines[i]))
            return false;
    return pl_finish_all_messages(parser) && pl_finish_plan(parser);
}

bool pl_plan_parse(struct pl_plan *plan, char *text, size_t size, int nprocs,
                   struct pl_plan_error *error)
{
    struct pl_parser parser = {.plan = plan, .error = error, .nprocs = nprocs};

    *plan = (struct pl_plan){.text = text};
    *error = (struct pl_plan_error){.line = 1};
    struct pl_config *world =
        pl_append(&parser, &plan->configs, &plan->config_count, sizeof *plan->configs);
    if (!world)
        return false;
    world->id = "default";

    text[size] = '\0';
    for (char *line = text, *end = text + size; line < end || error->line == 1; error->line++) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        char *stop = newline ? newline : end;
        *stop = '\0';
        at_token(&parser, line);
        if (strlen(line) != (size_t)(stop - line))
            return pl_refuse(&parser, "there is a NUL byte in this line; write plain text");
        if (error->line == 1) {
            size_t length = strlen(FIRST_LINE);
            if (strncmp(line, FIRST_LINE, length) != 0 ||
                line[length + strspn(line + length, BLANKS)] != '\0')
                return pl_refuse(&parser, "the first line must be '" FIRST_LINE "'");
        } else if (!take_line(&parser, line))
            return false;
        line = newline ? newline + 1 : end;
    }
    return finish(&parser);
}

void pl_plan_free(struct pl_plan *plan)
{
    for (int i = 0; i < plan->config_count; i++)
        free(plan->configs[i].knobs);
    free(plan->configs);
    free(plan->cases);
    free(plan->pingpongs);
    free(plan->overlaps);
    pl_messages_free(plan->messages);
    free(plan->arrivals.list);
    free(plan->text);
    *plan = (struct pl_plan){0};
}
