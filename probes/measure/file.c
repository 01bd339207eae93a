#include "measure/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

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
