/* An alarm that stops of the process do not set off: what was stopped did not hang. */
#ifndef PL_TEST_PATIENCE_H
#define PL_TEST_PATIENCE_H

#include <stdbool.h>

/* SIGALRM comes so many seconds after the last call. */
void patience(unsigned seconds);

/* For the handler of SIGALRM: whether to go on, as the process was stopped in between and has got
 * as many seconds again. */
bool patience_renewed(void);

#endif
