#include "measure/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IRREGULAR = -1 };

const char *pl_file_reason(int problem)
{
    return problem == IRREGULAR ? "not a regular file" : strerror(problem);
}

/* Does not wait for the writer of a pipe. */
static int open_regular(const char *path, FILE **file)
{
    struct stat status;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return errno;
    int error = fstat(descriptor, &status) != 0 ? errno : 0;
    if (!error && !S_ISREG(status.st_mode))
        error = S_ISDIR(status.st_mode) ? EISDIR : IRREGULAR;
    if (!error && !(*file = fdopen(descriptor, "r")))
        error = errno;
    if (error)
        close(descriptor);
    return error;
}

int pl_file_read(const char *path, char **text, size_t *size)
{
    size_t room = 0, used = 0;
    FILE *file = NULL;
    *text = NULL;
    int error = open_regular(path, &file);
    if (error)
        return error;
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
