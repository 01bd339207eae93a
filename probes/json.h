/* Writes JSON (RFC 8259) to a stream, keeping track of commas and brackets. Text that is not valid
 * UTF-8 is written with U+FFFD for each bad byte, so that the result can always be decoded. */
#ifndef PL_JSON_H
#define PL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PL_JSON_DEPTH 16

struct pl_json {
    FILE *out; /* NULL: everything is swallowed */
    int depth;
    bool filled[PL_JSON_DEPTH]; /* the container at this depth has a member */
    char closing[PL_JSON_DEPTH];
};

void pl_json_start(struct pl_json *json, FILE *out);

/* `key` is NULL inside arrays and for the outermost value. */
void pl_json_object(struct pl_json *json, const char *key);
void pl_json_array(struct pl_json *json, const char *key);
void pl_json_end(struct pl_json *json); /* closes the innermost object or array */

void pl_json_text(struct pl_json *json, const char *key, const char *value);
void pl_json_integer(struct pl_json *json, const char *key, int64_t value);
void pl_json_unsigned(struct pl_json *json, const char *key, uint64_t value);
/* Shortest text that reads back the same; null where it is not a finite number. */
void pl_json_real(struct pl_json *json, const char *key, double value);
void pl_json_bool(struct pl_json *json, const char *key, bool value);
/* An array; NULL: an empty one. */
void pl_json_integers(struct pl_json *json, const char *key, const int64_t *values, int count);

/* An array of `count` values, the i-th being `value`, which is written by pl_json_<kind>. */
#define PL_JSON_EACH(json, name, i, count, kind, value)                                            \
    do {                                                                                           \
        pl_json_array(json, name);                                                                 \
        for (int i = 0; i < (count); i++)                                                          \
            pl_json_##kind(json, NULL, value);                                                     \
        pl_json_end(json);                                                                         \
    } while (0)

#endif
