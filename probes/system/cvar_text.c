/* Values of control variables to text and back. One line of a table for each type of MPI_T. */
#include "system/cvar.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum class { SIGNED, UNSIGNED, REAL, TEXT, UNKNOWN };

struct kind {
    MPI_Datatype type;
    enum class class;
    const char *name;
    size_t size; /* MPI_Type_size is for after MPI_Init */
};

static struct kind kind_of(const struct pl_cvar *cvar)
{
    const struct kind table[] = {
        {MPI_INT, SIGNED, "int", sizeof(int)},
        {MPI_UNSIGNED, UNSIGNED, "unsigned", sizeof(unsigned)},
        {MPI_UNSIGNED_LONG, UNSIGNED, "unsigned long", sizeof(unsigned long)},
        {MPI_UNSIGNED_LONG_LONG, UNSIGNED, "unsigned long long", sizeof(unsigned long long)},
        {MPI_COUNT, SIGNED, "count", sizeof(MPI_Count)},
        {MPI_LONG, SIGNED, "long", sizeof(long)},
        {MPI_LONG_LONG, SIGNED, "long long", sizeof(long long)},
        {MPI_INT32_T, SIGNED, "int32", sizeof(int32_t)},
        {MPI_INT64_T, SIGNED, "int64", sizeof(int64_t)},
        {MPI_UINT32_T, UNSIGNED, "uint32", sizeof(uint32_t)},
        {MPI_UINT64_T, UNSIGNED, "uint64", sizeof(uint64_t)},
        {MPI_C_BOOL, UNSIGNED, "bool", sizeof(bool)},
        {MPI_DOUBLE, REAL, "double", sizeof(double)},
        {MPI_CHAR, TEXT, "string", sizeof(char)},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == cvar->type)
            return table[i];
    return (struct kind){cvar->type, UNKNOWN, "unknown", 0};
}

const char *pl_cvar_type_name(const struct pl_cvar *cvar)
{
    return kind_of(cvar).name;
}

size_t pl_cvar_size(const struct pl_cvar *cvar)
{
    return kind_of(cvar).size;
}

static int64_t load_integer(const unsigned char *at, size_t size, bool is_signed)
{
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    switch (size) {
    case 1:
        return *at;
    case 4:
        memcpy(&i32, at, size);
        memcpy(&u32, at, size);
        return is_signed ? i32 : (int64_t)u32;
    default:
        memcpy(&i64, at, sizeof i64);
        return i64;
    }
}

/* False when the number does not fit. */
static bool store_integer(unsigned char *at, size_t size, bool is_signed, int64_t number)
{
    uint8_t u8 = (uint8_t)number;
    uint32_t u32 = (uint32_t)number;
    switch (size) {
    case 1:
        memcpy(at, &u8, size);
        return number == 0 || number == 1;
    case 4:
        memcpy(at, &u32, size);
        return is_signed ? number >= INT32_MIN && number <= INT32_MAX
                         : number >= 0 && number <= UINT32_MAX;
    default:
        memcpy(at, &number, sizeof number);
        return true;
    }
}

void pl_cvar_format(const struct pl_cvar *cvar, const struct pl_cvar_value *value, char *text,
                    size_t size)
{
    const enum class class = kind_of(cvar).class;
    size_t used = 0;
    text[0] = '\0';
    if (class == TEXT) {
        snprintf(text, size, "%.*s", value->count, (const char *)value->bytes);
        return;
    }
    for (int i = 0; class != UNKNOWN && i < value->count && used < size; i++) {
        const unsigned char *at = value->bytes + (size_t)i * pl_cvar_size(cvar);
        const char *comma = i ? "," : "";
        double real;
        if (class == REAL) {
            memcpy(&real, at, sizeof real);
            used += (size_t)snprintf(text + used, size - used, "%s%.17g", comma, real);
        } else {
            int64_t number = load_integer(at, pl_cvar_size(cvar), class == SIGNED);
            used += (size_t)(class == SIGNED
                                 ? snprintf(text + used, size - used, "%s%" PRId64, comma, number)
                                 : snprintf(text + used, size - used, "%s%" PRIu64, comma,
                                            (uint64_t)number));
        }
    }
}

/* Where enumerators are only described, the library looks at no number before it uses it. */
static bool past_the_choices(const struct pl_cvar *cvar, int64_t number)
{
    int choices = pl_cvar_described(cvar) ? pl_cvar_enumerators(cvar) : 0;
    return choices > 0 && (number < 0 || number >= choices);
}

/* A whole number, `true` or `false`, or the name of an enumerator. */
static bool parse_integer(const struct pl_cvar *cvar, const char *text, bool is_signed,
                          int64_t *number)
{
    char *end;
    errno = 0;
    *number = is_signed ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 10);
    if (!isspace((unsigned char)*text) && *end == '\0' && end != text && errno == 0)
        return (is_signed || *text != '-') && !past_the_choices(cvar, *number);
    if (cvar->type == MPI_C_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
        *number = strcmp(text, "true") == 0;
        return true;
    }
    for (int i = 0; i < pl_cvar_enumerators(cvar); i++) {
        char name[PL_CVAR_NAME];
        int value;
        if (pl_cvar_enumerator(cvar, i, &value, name, sizeof name) && strcmp(name, text) == 0) {
            *number = value;
            return true;
        }
    }
    return false;
}

bool pl_cvar_parse(const struct pl_cvar *cvar, const char *text, const struct pl_cvar_value *like,
                   struct pl_cvar_value *value)
{
    const enum class class = kind_of(cvar).class;
    int64_t number;
    double real;
    char *end;
    memset(value, 0, sizeof *value);
    value->count = like->count;
    switch (class) {
    case TEXT:
        if (strlen(text) >= (size_t)like->count)
            return false;
        memcpy(value->bytes, text, strlen(text));
        return true;
    case REAL:
        real = strtod(text, &end);
        memcpy(value->bytes, &real, sizeof real);
        return like->count == 1 && *end == '\0' && end != text;
    case SIGNED:
    case UNSIGNED:
        return like->count == 1 && parse_integer(cvar, text, class == SIGNED, &number) &&
               store_integer(value->bytes, pl_cvar_size(cvar), class == SIGNED, number);
    case UNKNOWN:
        break;
    }
    return false;
}
