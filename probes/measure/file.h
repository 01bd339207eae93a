/* Whole files in memory. */
#ifndef PL_FILE_H
#define PL_FILE_H

#include <stddef.h>

/* 0 and a buffer from malloc with room for one more byte, or what pl_file_reason explains: also for
 * a pipe, a device or a folder, and for more than INT_MAX - 1 bytes. */
int pl_file_read(const char *path, char **text, size_t *size);
const char *pl_file_reason(int problem);

/* Why a file of records must not be put at `path`, NULL when it may: records never take the place
 * of a folder, a device (a rename would, for root) or the plan itself. */
const char *pl_file_unfit(const char *path, const char *plan_path);

#endif
