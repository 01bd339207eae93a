/* The values of all control variables, read where a crash does no harm.
 *
 * Open MPI 4.1 keeps the variables of components that it has unloaded (pml/ucx on a machine without
 * its network): reading one touches memory that is gone. A child process reads; where it dies, the
 * variable is unreadable and another child goes on behind it. */
#ifndef PL_SURVEY_H
#define PL_SURVEY_H

#include <stdbool.h>

/* values[i] is the text of variable i, from malloc, or NULL where it cannot be read. False: no
 * child could be started or memory is short. */
bool pl_survey(char **values, int count);
/* The same for one of them. */
char *pl_survey_one(int index);

#endif
