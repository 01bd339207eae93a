/* The case that runs is named when it hangs or crashes. */
#ifndef PL_TEST_WATCH_H
#define PL_TEST_WATCH_H

#include "cases.h"
#include "subjects.h"

/* Name, what, rank and case as one line. */
const char *case_text(char *text, size_t size, const struct subject *subject,
                      const struct setting *setting, const char *what);

/* From here on this case runs; after a minute without another one the program ends. */
void watch(const struct subject *subject, const struct setting *setting);
void watch_end(void);

#endif
