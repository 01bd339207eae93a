/* Whole files in memory. */
#ifndef PL_FILE_H
#define PL_FILE_H

#include <stddef.h>

/* 0 and a buffer from malloc with room for one more byte, or an errno. EFBIG: more than INT_MAX
 * - 1. */
int pl_file_read(const char *path, char **text, size_t *size);

#endif
