#include "system/sysfile.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t end = strlen(text);
    while (end > 0 && isspace((unsigned char)text[end - 1]))
        text[--end] = '\0';
    return text;
}

void pl_words_add(struct pl_words *words, const char *word)
{
    enum { ROOM = sizeof words->word / sizeof *words->word };
    int at = 0, order = 1;
    while (at < words->count && (order = strcmp(words->word[at], word)) < 0)
        at++;
    if ((at < words->count && order == 0) || words->count == ROOM)
        return;
    memmove(words->word[at + 1], words->word[at],
            (size_t)(words->count++ - at) * sizeof *words->word);
    snprintf(words->word[at], sizeof *words->word, "%s", word);
}

void pl_words_join(const struct pl_words *words, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < words->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", words->word[i]);
}

int pl_sysfile_line(const char *path, char *text, size_t size)
{
    char line[4096];
    text[0] = '\0';
    errno = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return errno ? errno : EIO;
    bool read = fgets(line, sizeof line, file) != NULL;
    int error = read ? 0 : ferror(file) && errno ? errno : ENODATA;
    fclose(file);
    if (read)
        snprintf(text, size, "%s", trimmed(line));
    return error;
}

int pl_sysfile_lines(const char *pattern, char *text, size_t size)
{
    char line[256];
    glob_t found;
    struct pl_words words = {0};
    int error = ENOENT;
    text[0] = '\0';
    if (glob(pattern, 0, NULL, &found) != 0)
        return error;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int here = pl_sysfile_line(found.gl_pathv[i], line, sizeof line);
        if (here == 0)
            pl_words_add(&words, line);
        else
            error = here;
    }
    globfree(&found);
    pl_words_join(&words, text, size);
    return text[0] ? 0 : error;
}

int pl_sysfile_field(const char *path, const char *key, char *text, size_t size)
{
    char *line = NULL;
    size_t room = 0;
    struct pl_words words = {0};
    text[0] = '\0';
    errno = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return errno ? errno : EIO;
    while (getline(&line, &room, file) > 0) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = '\0';
        if (strcmp(trimmed(line), key) == 0)
            pl_words_add(&words, trimmed(colon + 1));
    }
    free(line);
    fclose(file);
    pl_words_join(&words, text, size);
    return text[0] ? 0 : ENODATA;
}

void pl_reading_missing(struct pl_reading *reading, const char *path, int error, const char *why)
{
    reading->value[0] = '\0';
    snprintf(reading->missing, sizeof reading->missing, "%s: %s%s%s", path, strerror(error),
             *why ? "; " : "", why);
}

void pl_reading_line(struct pl_reading *reading, const char *path, const char *why)
{
    int error = pl_sysfile_line(path, reading->value, sizeof reading->value);
    if (error)
        pl_reading_missing(reading, path, error, why);
}
