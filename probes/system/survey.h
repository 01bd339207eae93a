/* The values of all control variables, as a process has them that starts with this environment:
 * read in a process of its own, which knows MPI_T and no MPI_Init. It is spawned, not forked: after
 * a fork some interconnects write into the memory of the wrong process.
 *
 * Open MPI 4.1 keeps the variables of components that it has unloaded (pml/ucx on a machine without
 * its network): reading one touches memory that is gone. So that process has children that read;
 * where one dies, the variable is unreadable and another child goes on behind it. */
#ifndef PL_SURVEY_H
#define PL_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

struct pl_survey {
    char *text; /* name, NUL, value, NUL, and so on */
    size_t size, next;
};

/* False: no process could be started, or it has failed. */
bool pl_survey_open(struct pl_survey *survey);
/* NULL: there is no such variable at the start, or it cannot be read. */
const char *pl_survey_value(struct pl_survey *survey, const char *name);
void pl_survey_close(struct pl_survey *survey);

/* What that process does: `probe variables`. Returns an exit code. */
int pl_variables(void);

#endif
