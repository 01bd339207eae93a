/* Numbers of plans, and what is wrong with a plan. */
#include "plan_parser.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

bool pl_refuse(struct pl_parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error->why, sizeof parser->error->why, format, arguments);
    va_end(arguments);
    return false;
}

bool pl_refuse_token(struct pl_parser *parser, const char *key, const char *value,
                     const char *format, ...)
{
    va_list arguments;
    snprintf(parser->error->token, sizeof parser->error->token, "%s=%s", key, value);
    va_start(arguments, format);
    vsnprintf(parser->error->why, sizeof parser->error->why, format, arguments);
    va_end(arguments);
    return false;
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
    if (!good || result < least || result > most)
        return pl_refuse(parser, "write a whole number from %llu to %llu",
                         (unsigned long long)least, (unsigned long long)most);
    *value = result;
    return true;
}

bool pl_take_count(struct pl_parser *parser, const char *text, int least, int *value)
{
    uint64_t result;
    if (!pl_take_number(parser, text, (uint64_t)least, INT_MAX, &result))
        return false;
    *value = (int)result;
    return true;
}

bool pl_take_int(struct pl_parser *parser, const char *text, int least, int most, int *value)
{
    uint64_t result;
    if (!pl_take_number(parser, text, (uint64_t)least, (uint64_t)most, &result))
        return false;
    *value = (int)result;
    return true;
}
