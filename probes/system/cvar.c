/* MPI_T control variables (MPI 3.1, section 14.3.6). */
#include "system/cvar.h"

#include "system/choices.h"

#include <string.h>

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
    const size_t size = pl_cvar_size(cvar);
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

bool pl_cvar_described(const struct pl_cvar *cvar)
{
    return cvar->enumeration == MPI_T_ENUM_NULL && cvar->type == MPI_INT &&
           strncmp(cvar->name, "MPIR_CVAR_", 10) == 0;
}

int pl_cvar_enumerators(const struct pl_cvar *cvar)
{
    char name[PL_CVAR_NAME];
    int count, size = sizeof name;
    if (pl_cvar_described(cvar))
        return pl_choices_count(cvar->description);
    if (cvar->enumeration == MPI_T_ENUM_NULL ||
        MPI_T_enum_get_info(cvar->enumeration, &count, name, &size) != MPI_SUCCESS)
        return 0;
    return count;
}

bool pl_cvar_enumerator(const struct pl_cvar *cvar, int i, int *value, char *name, int size)
{
    if (pl_cvar_described(cvar)) {
        *value = i;
        return pl_choices_name(cvar->description, i, name, size);
    }
    return MPI_T_enum_get_item(cvar->enumeration, i, value, name, &size) == MPI_SUCCESS;
}
