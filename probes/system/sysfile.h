/* Small text files of the kernel: /proc and /sys. Functions with a `text` return 0, or an errno
 * and leave it empty. Several distinct values are sorted and joined with ", ". */
#ifndef PL_SYSFILE_H
#define PL_SYSFILE_H

#include <stddef.h>

/* The first line, without blanks at its ends. */
int pl_sysfile_line(const char *path, char *text, size_t size);
/* The distinct first lines of all files that a glob pattern names. */
int pl_sysfile_lines(const char *pattern, char *text, size_t size);
/* The distinct values of the lines "key : value". ENODATA: the file has none. */
int pl_sysfile_field(const char *path, const char *key, char *text, size_t size);

/* A value, or why there is none: one of the two is empty. */
struct pl_reading {
    char value[512];
    char missing[256];
};

/* "PATH: no such file; why". */
void pl_reading_missing(struct pl_reading *reading, const char *path, int error, const char *why);
/* The first line of a file, or why there is none. */
void pl_reading_line(struct pl_reading *reading, const char *path, const char *why);

/* Distinct words in order; what does not fit is left out. */
struct pl_words {
    int count;
    char word[32][256];
};
void pl_words_add(struct pl_words *words, const char *word);
void pl_words_join(const struct pl_words *words, char *text, size_t size);

#endif
