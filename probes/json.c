#include "json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at `at`, 0 if there is none (Unicode 15, table 3-7). */
static int utf8_length(const unsigned char *at)
{
    unsigned char low = 0x80, high = 0xBF;
    int length;
    if (at[0] < 0x80)
        return 1;
    if (at[0] >= 0xC2 && at[0] <= 0xDF)
        length = 2;
    else if (at[0] >= 0xE0 && at[0] <= 0xEF)
        length = 3;
    else if (at[0] >= 0xF0 && at[0] <= 0xF4)
        length = 4;
    else
        return 0;
    /* No overlong forms, no surrogates, nothing past U+10FFFF. */
    if (at[0] == 0xE0)
        low = 0xA0;
    else if (at[0] == 0xED)
        high = 0x9F;
    else if (at[0] == 0xF0)
        low = 0x90;
    else if (at[0] == 0xF4)
        high = 0x8F;
    for (int i = 1; i < length; i++, low = 0x80, high = 0xBF)
        if (at[i] < low || at[i] > high)
            return 0;
    return length;
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

static void write_string(FILE *out, const char *text)
{
    putc_unlocked('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        if (is_plain(*at)) {
            putc_unlocked(*at++, out);
            continue;
        }
        int length = utf8_length(at);
        if (length == 0)
            fputs("\\ufffd", out);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (length == 1)
            fprintf(out, "\\u%04x", *at);
        else
            fwrite(at, 1, (size_t)length, out);
        at += length ? length : 1;
    }
    putc_unlocked('"', out);
}

/* Most of a record is numbers; printf takes several times as long. */
static void write_digits(FILE *out, uint64_t value)
{
    char text[20];
    char *at = text + sizeof text;
    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (at < text + sizeof text)
        putc_unlocked(*at++, out);
}

/* False: nothing is written. */
static bool before_value(struct pl_json *json, const char *key)
{
    if (!json->out)
        return false;
    if (json->depth > 0) {
        if (json->filled[json->depth - 1])
            putc_unlocked(',', json->out);
        json->filled[json->depth - 1] = true;
    }
    if (key) {
        write_string(json->out, key);
        putc_unlocked(':', json->out);
    }
    return true;
}

static void open_container(struct pl_json *json, const char *key, char opening, char closing)
{
    assert(json->depth < PL_JSON_DEPTH);
    if (!before_value(json, key))
        return;
    putc_unlocked(opening, json->out);
    json->filled[json->depth] = false;
    json->closing[json->depth++] = closing;
}

void pl_json_start(struct pl_json *json, FILE *out)
{
    memset(json, 0, sizeof *json);
    json->out = out;
}

void pl_json_object(struct pl_json *json, const char *key)
{
    open_container(json, key, '{', '}');
}

void pl_json_array(struct pl_json *json, const char *key)
{
    open_container(json, key, '[', ']');
}

void pl_json_end(struct pl_json *json)
{
    if (!json->out)
        return;
    assert(json->depth > 0);
    putc_unlocked(json->closing[--json->depth], json->out);
}

void pl_json_text(struct pl_json *json, const char *key, const char *value)
{
    if (!before_value(json, key))
        return;
    write_string(json->out, value);
}

void pl_json_integer(struct pl_json *json, const char *key, int64_t value)
{
    if (!before_value(json, key))
        return;
    if (value < 0)
        putc_unlocked('-', json->out);
    write_digits(json->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void pl_json_unsigned(struct pl_json *json, const char *key, uint64_t value)
{
    if (!before_value(json, key))
        return;
    write_digits(json->out, value);
}

void pl_json_real(struct pl_json *json, const char *key, double value)
{
    char text[32] = "null";
    if (!before_value(json, key))
        return;
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, json->out);
}

void pl_json_bool(struct pl_json *json, const char *key, bool value)
{
    if (!before_value(json, key))
        return;
    fputs(value ? "true" : "false", json->out);
}

void pl_json_integers(struct pl_json *json, const char *key, const int64_t *values, int count)
{
    pl_json_array(json, key);
    for (int i = 0; values && i < count; i++)
        pl_json_integer(json, NULL, values[i]);
    pl_json_end(json);
}
