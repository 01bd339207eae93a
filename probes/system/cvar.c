/* MPI_T control variables (MPI 3.1, section 14.3.6), their values to text and back. One line of a
 * table for each type of MPI_T. */
#include "system/cvar.h"

#include "system/choices.h"

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

#if PL_SIMULATED /* not one control variable */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NONE(function, ...)                                                                        \
    function                                                                                       \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

void pl_cvar_start(void) {}

void pl_cvar_stop(void) {}

bool pl_cvar_info(int index, struct pl_cvar *cvar)
{
    *cvar = (struct pl_cvar){.index = index};
    return false;
}

int pl_cvar_read(const struct pl_cvar *cvar, struct pl_cvar_value *value)
{
    *value = (struct pl_cvar_value){0};
    return MPI_ERR_OTHER;
}

/* clang-format off */
NONE(int pl_cvar_count(void), 0)
NONE(bool pl_cvar_find(const char *name, struct pl_cvar *cvar), pl_cvar_info(-1, cvar))
NONE(const char *pl_cvar_scope_name(const struct pl_cvar *cvar), "unknown")
NONE(bool pl_cvar_writable(const struct pl_cvar *cvar), false)
NONE(int pl_cvar_write(const struct pl_cvar *cvar, const struct pl_cvar_value *value), MPI_ERR_OTHER)
NONE(static bool is_described(const struct pl_cvar *cvar), false)
NONE(int pl_cvar_enumerators(const struct pl_cvar *cvar), 0)
NONE(bool pl_cvar_enumerator(const struct pl_cvar *cvar, int i, int *value, char *name, int size), false)
/* clang-format on */
#pragma GCC diagnostic pop
#else

void pl_cvar_start(void)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
}

void pl_cvar_stop(void)
{
    MPI_T_finalize();
}

int pl_cvar_count(void)
{
    int count;
    return MPI_T_cvar_get_num(&count) == MPI_SUCCESS ? count : 0;
}

bool pl_cvar_info(int index, struct pl_cvar *cvar)
{
    int name_size = sizeof cvar->name, description_size = sizeof cvar->description;
    *cvar = (struct pl_cvar){.index = index};
    return MPI_T_cvar_get_info(index, cvar->name, &name_size, &cvar->verbosity, &cvar->type,
                               &cvar->enumeration, cvar->description, &description_size,
                               &cvar->bind, &cvar->scope) == MPI_SUCCESS &&
           cvar->name[0] != '\0';
}

bool pl_cvar_find(const char *name, struct pl_cvar *cvar)
{
    int index;
    return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS && pl_cvar_info(index, cvar);
}

const char *pl_cvar_scope_name(const struct pl_cvar *cvar)
{
    switch (cvar->scope) {
    case MPI_T_SCOPE_CONSTANT:
        return "constant";
    case MPI_T_SCOPE_READONLY:
        return "read-only";
    case MPI_T_SCOPE_LOCAL:
        return "local";
    case MPI_T_SCOPE_GROUP:
        return "group";
    case MPI_T_SCOPE_GROUP_EQ:
        return "group-equal";
    case MPI_T_SCOPE_ALL:
        return "all";
    case MPI_T_SCOPE_ALL_EQ:
        return "all-equal";
    }
    return "unknown";
}

bool pl_cvar_writable(const struct pl_cvar *cvar)
{
    return cvar->scope != MPI_T_SCOPE_CONSTANT && cvar->scope != MPI_T_SCOPE_READONLY;
}

static int open_handle(const struct pl_cvar *cvar, MPI_T_cvar_handle *handle, int *count)
{
    const size_t size = kind_of(cvar).size;
    if (cvar->bind != MPI_T_BIND_NO_OBJECT)
        return MPI_T_ERR_INVALID;
    int rc = MPI_T_cvar_handle_alloc(cvar->index, NULL, handle, count);
    if (rc != MPI_SUCCESS)
        return rc;
    if (*count < 1 || size == 0 || (size_t)*count * size > PL_CVAR_TEXT) {
        MPI_T_cvar_handle_free(handle);
        return MPI_T_ERR_INVALID;
    }
    return MPI_SUCCESS;
}

int pl_cvar_read(const struct pl_cvar *cvar, struct pl_cvar_value *value)
{
    MPI_T_cvar_handle handle;
    memset(value, 0, sizeof *value);
    int rc = open_handle(cvar, &handle, &value->count);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = MPI_T_cvar_read(handle, value->bytes);
    MPI_T_cvar_handle_free(&handle);
    return rc;
}

int pl_cvar_write(const struct pl_cvar *cvar, const struct pl_cvar_value *value)
{
    MPI_T_cvar_handle handle;
    int count;
    int rc = open_handle(cvar, &handle, &count);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = MPI_T_cvar_write(handle, value->bytes);
    MPI_T_cvar_handle_free(&handle);
    return rc;
}

/* The library describes enumerators in words (system/choices.h). */
static bool is_described(const struct pl_cvar *cvar)
{
    return cvar->enumeration == MPI_T_ENUM_NULL && cvar->type == MPI_INT &&
           strncmp(cvar->name, "MPIR_CVAR_", 10) == 0;
}

int pl_cvar_enumerators(const struct pl_cvar *cvar)
{
    char name[PL_CVAR_NAME];
    int count, size = sizeof name;
    if (is_described(cvar))
        return pl_choices_count(cvar->description);
    if (cvar->enumeration == MPI_T_ENUM_NULL ||
        MPI_T_enum_get_info(cvar->enumeration, &count, name, &size) != MPI_SUCCESS)
        return 0;
    return count;
}

bool pl_cvar_enumerator(const struct pl_cvar *cvar, int i, int *value, char *name, int size)
{
    if (is_described(cvar)) {
        *value = i;
        return pl_choices_name(cvar->description, i, name, size);
    }
    return MPI_T_enum_get_item(cvar->enumeration, i, value, name, &size) == MPI_SUCCESS;
}

#endif

/* --- values as text --- */

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
        const unsigned char *at = value->bytes + (size_t)i * kind_of(cvar).size;
        const char *comma = i ? "," : "";
        double real;
        if (class == REAL) {
            memcpy(&real, at, sizeof real);
            used += (size_t)snprintf(text + used, size - used, "%s%.17g", comma, real);
        } else {
            int64_t number = load_integer(at, kind_of(cvar).size, class == SIGNED);
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
    int choices = is_described(cvar) ? pl_cvar_enumerators(cvar) : 0;
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
               store_integer(value->bytes, kind_of(cvar).size, class == SIGNED, number);
    case UNKNOWN:
        break;
    }
    return false;
}
