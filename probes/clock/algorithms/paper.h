/* How one process learns the clock of another as the algorithms were published, for comparison with
 * learn.h, which takes the place of this in the algorithms of the same names. */
#ifndef PL_PAPER_H
#define PL_PAPER_H

#include "clock/model.h"
#include "clock/wire.h"

/* A line by ordinary least squares through PL_PAPER_POINTS offsets over wire->fit_ns, always with a
 * slope; each offset is the median of PL_PAPER_EXCHANGES, all taken for half of the median round
 * trip old (Jones and Koenig, Concurrency and Computation 25, 2013). */
enum { PL_PAPER_POINTS = 50, PL_PAPER_EXCHANGES = 20, PL_PAPER_TRIPS = 100 };
struct pl_model pl_paper_line(struct pl_wire *wire, int server);
void pl_paper_teach_line(struct pl_wire *wire, int client, const struct pl_model *model);

/* One such offset, from PL_PAPER_TRIPS exchanges. */
struct pl_model pl_paper_intercept(struct pl_wire *wire, int server);
void pl_paper_teach_intercept(struct pl_wire *wire, int client, const struct pl_model *model);

/* The offset by the shortest round trip, when PL_PAPER_TRIPS more in a row brought no shorter one
 * (Hoefler, Schneider and Lumsdaine, IPDPS workshops 2008). */
struct pl_model pl_paper_shortest(struct pl_wire *wire, int server);
void pl_paper_teach_shortest(struct pl_wire *wire, int client, const struct pl_model *model);

#endif
