/* Lines, words and tokens of a plan. What each key means is in plan_set.c
 * and plan_case.c. */
#include "plan.h"

#include "plan_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\v\f"
#define FIRST_LINE "plumbline-plan 1"

static void at_token(struct pl_parser *parser, const char *token)
{
    size_t length = strnlen(token, sizeof parser->error->token - 1);
    memcpy(parser->error->token, token, length);
    parser->error->token[length] = '\0';
}

static bool no_memory(struct pl_parser *parser)
{
    return pl_refuse(parser, "out of memory; split the plan");
}

/* Room for one more item in an array that grows by doubling; the item is zeroed. NULL: no memory.
 */
static void *append(void *array_pointer, int *count, size_t size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    if ((*count & (*count - 1)) == 0) { /* 0 or a power of two: full */
        void *larger = realloc(array, (*count ? 2 * (size_t)*count : 1) * size);
        if (!larger)
            return NULL;
        array = larger;
        memcpy(array_pointer, &array, sizeof array);
    }
    return memset((char *)array + (size_t)(*count)++ * size, 0, size);
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

static bool refuse_key(struct pl_parser *parser, const char *word, const struct pl_key *keys,
                       int count)
{
    char known[320] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, " %s", keys[i].name);
    return pl_refuse(parser, "'%s' has no such key; it has:%s", word, known);
}

/* The tokens that follow `word`, each a key of the table, none twice. */
static bool take_number(struct pl_parser *parser, const struct pl_key *key, const char *value,
                        void *into)
{
    uint64_t number;
    if (!pl_take_number(parser, value, key->number.least, key->number.most, &number))
        return false;
    void *at = (char *)into + key->number.offset;
    if (key->number.size == sizeof(bool))
        *(bool *)at = number;
    else if (key->number.size == sizeof(int))
        *(int *)at = (int)number;
    else
        memcpy(at, &number, sizeof number);
    return true;
}

/* `into`: what the line describes. */
static bool take_tokens(struct pl_parser *parser, const char *word, const struct pl_key *keys,
                        int count, void *into, char **rest)
{
    const bool is_set = keys == pl_set_keys;
    unsigned seen = 0;
    for (char *token; (token = strtok_r(NULL, BLANKS, rest));) {
        char *value = cut(parser, token);
        int i = 0;
        if (!value)
            return false;
        while (i < count && strcmp(keys[i].name, token) != 0)
            i++;
        if (i == count)
            return refuse_key(parser, word, keys, count);
        if (seen & 1u << i || (is_set && parser->given[i]))
            return pl_refuse(parser, "key '%s' stands twice; leave one", token);
        seen |= 1u << i;
        if (is_set)
            parser->given[i] = value;
        if (!(keys[i].take ? keys[i].take(parser, value)
                           : take_number(parser, &keys[i], value, into)))
            return false;
    }
    at_token(parser, word);
    for (int i = 0; i < count; i++)
        if (keys[i].required && !(seen & 1u << i) && !is_set) /* other lines may have them */
            return pl_refuse(parser, "key '%s' is missing; add %s=…", keys[i].name, keys[i].name);
    return true;
}

/* The lines `set` of a plan have all that it needs. */
static bool set_is_complete(struct pl_parser *parser)
{
    parser->error->line = parser->set_line;
    at_token(parser, "set");
    if (parser->set_line == 0)
        return pl_refuse(parser, "there is none; add a line 'set run=… seed=… …'");
    for (int i = 0; i < pl_set_key_count; i++)
        if (pl_set_keys[i].required && !parser->given[i])
            return pl_refuse(parser, "key '%s' is missing; add %s=…", pl_set_keys[i].name,
                             pl_set_keys[i].name);
    return true;
}

static bool take_case(struct pl_parser *parser, char **rest)
{
    struct pl_plan *plan = parser->plan;
    struct pl_case *c = append(&plan->cases, &plan->case_count, sizeof *plan->cases);
    if (!c)
        return no_memory(parser);
    *c = (struct pl_case){.line = parser->error->line, .least = -1, .mean = -1};
    parser->current = c;
    return take_tokens(parser, "case", pl_case_keys, pl_case_key_count, c, rest) &&
           pl_finish_case(parser);
}

static bool take_pingpong(struct pl_parser *parser, char **rest)
{
    struct pl_plan *plan = parser->plan;
    struct pl_pingpong *p =
        append(&plan->pingpongs, &plan->pingpong_count, sizeof *plan->pingpongs);
    if (!p)
        return no_memory(parser);
    p->line = parser->error->line;
    return take_tokens(parser, "pingpong", pl_pingpong_keys, pl_pingpong_key_count, p, rest) &&
           pl_finish_pingpong(parser);
}

static bool take_overlap(struct pl_parser *parser, char **rest)
{
    struct pl_plan *plan = parser->plan;
    struct pl_overlap *o = append(&plan->overlaps, &plan->overlap_count, sizeof *plan->overlaps);
    if (!o)
        return no_memory(parser);
    *o = (struct pl_overlap){.line = parser->error->line, .function = PL_FUNCTION_COUNT};
    return take_tokens(parser, "overlap", pl_overlap_keys, pl_overlap_key_count, o, rest) &&
           pl_finish_overlap(parser);
}

static bool take_messages(struct pl_parser *parser, char **rest)
{
    return take_tokens(parser, "messages", pl_messages_keys, pl_messages_key_count, NULL, rest) &&
           pl_finish_messages(parser);
}

static bool take_config_id(struct pl_parser *parser, const char *id)
{
    for (int i = 0; i < parser->plan->config_count - 1; i++)
        if (strcmp(parser->plan->configs[i].id, id) == 0)
            return pl_refuse(parser, "%s",
                             i == PL_CONFIG_DEFAULT
                                 ? "'default' is MPI_COMM_WORLD itself; choose another id"
                                 : "this id was given before; choose another");
    return true;
}

static bool take_config_line(struct pl_parser *parser, char **rest)
{
    struct pl_plan *plan = parser->plan;
    struct pl_config *config = append(&plan->configs, &plan->config_count, sizeof *plan->configs);
    if (!config)
        return no_memory(parser);
    config->id = "";
    for (char *token; (token = strtok_r(NULL, BLANKS, rest));) {
        char *value = cut(parser, token);
        if (!value)
            return false;
        if (!*config->id) {
            if (strcmp(token, "id") != 0)
                return pl_refuse(parser, "a config starts with id=…; knobs follow it");
            if (!take_config_id(parser, value))
                return false;
            config->id = value;
            continue;
        }
        for (int i = 0; i < config->knob_count; i++)
            if (strcmp(config->knobs[i].name, token) == 0)
                return pl_refuse(parser, "knob '%s' stands twice; leave one", token);
        struct pl_knob *knob = append(&config->knobs, &config->knob_count, sizeof *config->knobs);
        if (!knob)
            return no_memory(parser);
        *knob = (struct pl_knob){token, value};
    }
    at_token(parser, "config");
    return *config->id || pl_refuse(parser, "key 'id' is missing; add id=…");
}

static bool take_line(struct pl_parser *parser, char *line)
{
    char *rest, *word = strtok_r(line, BLANKS, &rest);
    if (!word || *word == '#')
        return true;
    at_token(parser, word);
    if (strcmp(word, "case") == 0)
        return take_case(parser, &rest);
    if (strcmp(word, "config") == 0)
        return take_config_line(parser, &rest);
    if (strcmp(word, "pingpong") == 0)
        return take_pingpong(parser, &rest);
    if (strcmp(word, "overlap") == 0)
        return take_overlap(parser, &rest);
    if (strcmp(word, "messages") == 0)
        return take_messages(parser, &rest);
    if (strcmp(word, "set") != 0)
        return pl_refuse(parser,
                         "a line starts with set, config, case, messages, pingpong, overlap or #");
    parser->set_line = parser->error->line;
    return take_tokens(parser, "set", pl_set_keys, pl_set_key_count, parser->plan, &rest);
}

static int by_id(const void *left, const void *right)
{
    const struct pl_case *a = *(struct pl_case *const *)left, *b = *(struct pl_case *const *)right;
    return a->id != b->id ? (a->id > b->id) - (a->id < b->id)
                          : (a->line > b->line) - (a->line < b->line);
}

static bool ids_are_unique(struct pl_parser *parser)
{
    const struct pl_plan *plan = parser->plan;
    struct pl_case **sorted = malloc(((size_t)plan->case_count + 1) * sizeof *sorted);
    if (!sorted)
        return no_memory(parser);
    for (int i = 0; i < plan->case_count; i++)
        sorted[i] = &plan->cases[i];
    qsort(sorted, (size_t)plan->case_count, sizeof *sorted, by_id);
    bool unique = true;
    for (int i = 1; unique && i < plan->case_count; i++)
        if (sorted[i]->id == sorted[i - 1]->id) {
            char id[16];
            snprintf(id, sizeof id, "%d", sorted[i]->id);
            parser->error->line = sorted[i]->line;
            unique = pl_refuse_token(parser, "id", id, "line %d has the same id; choose another",
                                     sorted[i - 1]->line);
        }
    free(sorted);
    return unique;
}

bool pl_plan_parse(struct pl_plan *plan, char *text, size_t size, int nprocs,
                   struct pl_plan_error *error)
{
    struct pl_parser parser = {.plan = plan, .error = error, .nprocs = nprocs};

    *plan = (struct pl_plan){.text = text};
    *error = (struct pl_plan_error){.line = 1};
    struct pl_config *world = append(&plan->configs, &plan->config_count, sizeof *plan->configs);
    if (!world)
        return no_memory(&parser);
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
    error->line = 0;
    at_token(&parser, "case");
    if (plan->case_count == 0 && plan->config_count == 1 && plan->pingpong_count == 0 &&
        plan->overlap_count == 0)
        return pl_refuse(&parser, "there is none; add a line 'case id=0 function=… bytes=…'");
    return set_is_complete(&parser) && ids_are_unique(&parser) && pl_finish_all_messages(&parser) &&
           pl_finish_plan(&parser);
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
