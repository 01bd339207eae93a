/* Numbers in the place of what is equal, and what has one number. */
#ifndef PL_DETECTION_NUMBERS_H
#define PL_DETECTION_NUMBERS_H

#include "store.h"

/* By pair the number of its class, in the order in which they come first; how many classes.
 * `numbers` may be one of the two columns. */
int64_t pl_number(struct pl_store *store, int64_t count, const int64_t *left, const int64_t *right,
                  int64_t *numbers);
/* Indices by owner, in order: those of owner i are at[first[i]] to before at[first[i + 1]]. */
void pl_by_row(struct pl_store *store, int64_t count, const int64_t *owners, int64_t rows,
               int64_t **first, int64_t **at);

#endif
