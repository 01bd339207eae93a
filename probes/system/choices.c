#include "system/choices.h"

#include <stdio.h>
#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/* The length of the name on a line `name - text`; 0: the line is none such. */
static int named(const char *line)
{
    size_t name = strspn(line, letters);
    size_t blanks = strspn(line + name, " ");
    return name > 0 && blanks > 0 && strncmp(line + name + blanks, "- ", 2) == 0 ? (int)name : 0;
}

/* The line of value `index`, or NULL; the first line of a description is its summary. */
static const char *line_of(const char *description, int index)
{
    const char *line = strchr(description, '\n');
    for (; line; line = strchr(line, '\n')) {
        line++;
        if (named(line) && index-- == 0)
            return line;
    }
    return NULL;
}

int pl_choices_count(const char *description)
{
    int count = 0;
    while (line_of(description, count))
        count++;
    return count >= 2 ? count : 0;
}

bool pl_choices_name(const char *description, int index, char *name, int size)
{
    const char *line = index < pl_choices_count(description) ? line_of(description, index) : NULL;
    if (line)
        snprintf(name, (size_t)size, "%.*s", named(line), line);
    return line != NULL;
}
