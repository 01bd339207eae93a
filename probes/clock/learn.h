/* How one process learns the clock of another: ping-pongs, and a line through them. Both sides take
 * part; the one that learns is the client. */
#ifndef PL_LEARN_H
#define PL_LEARN_H

#include "clock/fit.h"
#include "clock/wire.h"

/* The client's side: the server's clock minus the client's, from `exchanges` round trips. `own` is
 * what the client takes for its own clock: its timer seen through a model. */
struct pl_offset pl_offset_ask(struct pl_wire *wire, int server, int exchanges,
                               const struct pl_model *own);
/* The server's side: the clock it gives is its timer seen through `model`. */
void pl_offset_answer(struct pl_wire *wire, int client, int exchanges,
                      const struct pl_model *model);

/* From the client's timer to the server's clock: one offset, or, where clocks drift apart, a line
 * through offsets that are evenly spread over wire->fit_ns. */
struct pl_model pl_learn(struct pl_wire *wire, int server);
void pl_teach(struct pl_wire *wire, int client, const struct pl_model *model);

/* The same in parts, for a server with many clients: once pl_teach_start, PL_FIT_POINTS times
 * pl_teach_point. */
enum { PL_FIT_POINTS = 50, PL_FIT_EXCHANGES = 20, PL_OFFSET_EXCHANGES = 300 };
void pl_teach_start(struct pl_wire *wire, int client);
void pl_teach_point(struct pl_wire *wire, int client, const struct pl_model *model);

/* One offset without a slope, from PL_OFFSET_EXCHANGES round trips. */
struct pl_model pl_learn_offset(struct pl_wire *wire, int server);
void pl_teach_offset(struct pl_wire *wire, int client, const struct pl_model *model);

#endif
