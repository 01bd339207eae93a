#include "system/facts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables that MPI libraries, their transports and Plumbline read. */
static const char *const prefixes[] = {
    "OMPI_MCA_",    "PMIX_MCA_",
    "PRTE_MCA_",    "OPAL_",
    "MPICH_",       "MPIR_",
    "MV2_",         "MVP_",
    "I_MPI_",       "HYDRA_",
    "UCX_",         "FI_",
    "PSM_",         "PSM2_",
    "PSM3_",        "HCOLL_",
    "SHARP_",       "MLX",
    "RDMAV_",       "IBV_",
    "OMP_",         "KMP_",
    "GOMP_",        "MALLOC_",
    "PLUMBLINE_",   "GLIBC_TUNABLES=",
    "LD_PRELOAD=",  "LD_LIBRARY_PATH=",
    "LD_BIND_NOW=", "LD_AUDIT=",
};

void pl_library_text(char text[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length;
    text[0] = '\0';
    PMPI_Get_library_version(text, &length);
    size_t blanks = strspn(text, " \t\r\n");
    memmove(text, text + blanks, strlen(text + blanks) + 1);
    size_t end = strcspn(text, "\n");
    while (end > 0 && isspace((unsigned char)text[end - 1]))
        end--;
    text[end] = '\0';
}

void pl_standard_text(char text[16])
{
    int version, subversion;
    PMPI_Get_version(&version, &subversion);
    snprintf(text, 16, "%d.%d", version, subversion);
}

void pl_error_text(int code, char text[MPI_MAX_ERROR_STRING])
{
    int length;
    if (code < 0)
        snprintf(text, MPI_MAX_ERROR_STRING, "%s", strerror(-code));
    else if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, MPI_MAX_ERROR_STRING, "MPI error code %d", code);
}

void pl_environment_json(struct pl_json *json)
{
    for (char **variable = environ; *variable; variable++) {
        const char *equals = strchr(*variable, '=');
        for (size_t i = 0; equals && i < sizeof prefixes / sizeof *prefixes; i++) {
            if (strncmp(*variable, prefixes[i], strlen(prefixes[i])) != 0)
                continue;
            char *name = strndup(*variable, (size_t)(equals - *variable));
            if (name)
                pl_json_text(json, name, equals + 1);
            free(name);
            break;
        }
    }
}
