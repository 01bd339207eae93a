/* All ranks begin together, at a time on the global clock, and the call lasts from the first start
 * to the last end (algorithm 1, lines 13–17, of Hunold and Carpen-Amarie, Reproducible MPI
 * Benchmarking is Still Not as Easy as You Think, IEEE TPDS 27, 2016): what the collective takes as
 * a whole, whichever rank leaves it early. Starts come in windows or, where the plan's own scheme
 * starts on the global clock too, by that scheme. */
#include "use/use.h"

const struct pl_use pl_use_synchronised = {
    .name = "synchronised",
    .summary = "starts on the global clock; from the first start to the last end",
    .span = PL_SPAN_FIRST_TO_LAST,
};
