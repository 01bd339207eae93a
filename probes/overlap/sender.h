/* The sequence of sender-side overlap, for all layouts of data. */
#ifndef PL_SENDER_H
#define PL_SENDER_H

#include "overlap/bench.h"

int64_t pl_sender_active(const struct pl_exchange *exchange);
void pl_sender_passive(const struct pl_exchange *exchange);

#endif
