/* Keys and values of lines of a plan, by the tables; and what is wrong with a plan. */
#include "plan_parser.h"

#include "json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_why(struct pl_parser *parser, const char *format, va_list arguments)
{
    vsnprintf(parser->error->why, sizeof parser->error->why, format, arguments);
}

bool pl_refuse(struct pl_parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_why(parser, format, arguments);
    va_end(arguments);
    return false;
}

const struct pl_key *pl_key_of(const struct pl_line_kind *line, const char *name)
{
    const struct pl_key *key = line->keys;
    while (key->name && strcmp(key->name, name) != 0)
        key++;
    return key;
}

void pl_at(struct pl_parser *parser, const struct pl_line_kind *line, const void *item)
{
    parser->line = line;
    parser->item = item;
}

bool pl_given(const struct pl_parser *parser, const char *name)
{
    const uint32_t given = parser->line == &pl_line_set ? parser->given_by_set : parser->given;
    return given >> (pl_key_of(parser->line, name) - parser->line->keys) & 1;
}

/* The value of a number or an index. */
static uint64_t number_of(const struct pl_key *key, const void *item)
{
    const void *at = (const char *)item + key->offset;
    uint64_t number;
    if (key->size == sizeof(bool))
        return *(const bool *)at;
    if (key->size == sizeof(int))
        return (uint64_t) * (const int *)at;
    memcpy(&number, at, sizeof number);
    return number;
}

/* The text of a value that is no number; NULL: it is not given. */
static const char *text_of(const struct pl_key *key, const void *item)
{
    const char *text;
    if (key->value == PL_VALUE_INDEX)
        return pl_names_at(key->list, (int)number_of(key, item));
    memcpy(&text, (const char *)item + key->offset, sizeof text);
    return text && key->value == PL_VALUE_ENTRY ? *(const char *const *)text : text;
}

bool pl_refuse_key(struct pl_parser *parser, const char *name, const char *format, ...)
{
    const struct pl_key *key = pl_key_of(parser->line, name);
    const void *item = parser->item;
    char number[24] = "…";
    const char *value = number;
    if (key->value == PL_VALUE_NUMBER)
        snprintf(number, sizeof number, "%" PRIu64, number_of(key, item));
    else if (key->size > 0 && text_of(key, item))
        value = text_of(key, item);
    memcpy(&parser->error->line, item, sizeof parser->error->line);
    snprintf(parser->error->token, sizeof parser->error->token, "%s=%s", name, value);
    va_list arguments;
    va_start(arguments, format);
    say_why(parser, format, arguments);
    va_end(arguments);
    return false;
}

bool pl_refuse_missing(struct pl_parser *parser, const char *name)
{
    memcpy(&parser->error->line, parser->item, sizeof parser->error->line);
    snprintf(parser->error->token, sizeof parser->error->token, "%s", parser->line->word);
    return pl_refuse(parser, "key '%s' is missing; add %s=…", name, name);
}

bool pl_obeys(struct pl_parser *parser, const struct pl_line_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].broken)
            return pl_refuse_key(parser, rules[i].key, "%s", rules[i].why);
    return true;
}

bool pl_take_number(struct pl_parser *parser, const char *text, uint64_t least, uint64_t most,
                    uint64_t *value)
{
    uint64_t result = 0;
    bool good = *text != '\0';
    for (const char *c = text; good && *c; c++) {
        unsigned digit = (unsigned)(*c - '0');
        good = digit <= 9 && result <= (UINT64_MAX - digit) / 10;
        if (good)
            result = result * 10 + digit;
    }
    *value = result;
    return (good && result >= least && result <= most) ||
           pl_refuse(parser, "write a whole number from %" PRIu64 " to %" PRIu64, least, most);
}

/* A list of two or three names is short enough for a message. */
static bool refuse_name(struct pl_parser *parser, enum pl_list list)
{
    const struct pl_names *names = &pl_names[list];
    const int count = *names->count;
    if (count > 3)
        return pl_refuse(parser, "no such %s; 'probe --list' names them (%s)", names->what,
                         names->listed);
    return pl_refuse(parser, "no such %s; write %s%s%s or %s", names->what, pl_names_at(list, 0),
                     count > 2 ? ", " : "", count > 2 ? pl_names_at(list, 1) : "",
                     pl_names_at(list, count - 1));
}

bool pl_take_value(struct pl_parser *parser, const struct pl_key *key, void *item,
                   const char *value)
{
    void *at = (char *)item + key->offset;
    uint64_t number = 0;
    const void *pointer = value;
    if (key->value == PL_VALUE_NUMBER) {
        if (!pl_take_number(parser, value, key->least, key->most, &number))
            return false;
    } else if (key->value != PL_VALUE_TEXT) {
        const int index = pl_names_find(key->list, value);
        if (index < 0)
            return refuse_name(parser, key->list);
        number = (uint64_t)index;
        pointer = pl_names_entry(key->list, index);
    }
    if (key->value == PL_VALUE_TEXT || key->value == PL_VALUE_ENTRY)
        memcpy(at, &pointer, key->size);
    else if (key->size == sizeof(bool))
        *(bool *)at = number;
    else if (key->size == sizeof(int))
        *(int *)at = (int)number;
    else
        memcpy(at, &number, key->size);
    return !key->take || key->take(parser, item, value);
}

void *pl_append(struct pl_parser *parser, void *array_pointer, int *count, size_t size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    if ((*count & (*count - 1)) == 0) { /* 0 or a power of two: full */
        void *larger = realloc(array, (*count ? 2 * (size_t)*count : 1) * size);
        if (!larger) {
            pl_refuse(parser, "out of memory; split the plan");
            return NULL;
        }
        array = larger;
        memcpy(array_pointer, &array, sizeof array);
    }
    return memset((char *)array + (size_t)(*count)++ * size, 0, size);
}

void pl_plan_echo(struct pl_json *json, const struct pl_line_kind *line, const void *item,
                  const char *first, const char *last)
{
    const struct pl_key *end = pl_key_of(line, last);
    for (const struct pl_key *key = pl_key_of(line, first); key <= end; key++) {
        const bool named = key->value == PL_VALUE_TEXT || key->value == PL_VALUE_ENTRY;
        const char *text = key->value == PL_VALUE_NUMBER ? NULL : text_of(key, item);
        if (key->flags & PL_QUIET_IF_ZERO && (named ? !text : number_of(key, item) == 0))
            continue;
        if (key->value != PL_VALUE_NUMBER)
            pl_json_text(json, key->name, text ? text : "");
        else if (key->size == sizeof(bool))
            pl_json_bool(json, key->name, number_of(key, item));
        else
            pl_json_unsigned(json, key->name, number_of(key, item));
    }
}
