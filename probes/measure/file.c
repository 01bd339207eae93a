#include "measure/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int pl_file_read(const char *path, char **text, size_t *size)
{
    size_t room = 0, used = 0;
    int error = 0;
    *text = NULL;
    FILE *file = fopen(path, "re");
    if (!file)
        return errno;
    while (!error && !feof(file)) {
        room = room ? 2 * room : 65536;
        char *larger = room < INT_MAX ? realloc(*text, room + 1) : NULL;
        if (!larger) {
            error = room < INT_MAX ? ENOMEM : EFBIG;
            break;
        }
        *text = larger;
        errno = 0;
        used += fread(*text + used, 1, room - used, file);
        if (ferror(file))
            error = errno ? errno : EIO;
    }
    fclose(file);
    if (error) {
        free(*text);
        *text = NULL;
    }
    *size = used;
    return error;
}

const char *pl_file_unfit(const char *path, const char *plan_path)
{
    struct stat there, plan;
    if (!*path)
        return "an empty name; write --out FILE";
    if (stat(path, &there) != 0)
        return NULL;
    if (!S_ISREG(there.st_mode))
        return "not a plain file; records would take its place, write another --out";
    if (stat(plan_path, &plan) == 0 && plan.st_dev == there.st_dev && plan.st_ino == there.st_ino)
        return "the plan itself; records would take its place, write another --out";
    return NULL;
}
