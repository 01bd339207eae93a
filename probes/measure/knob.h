/* Which control variables can be switched inside a launch. Pure.
 *
 * With knobs=communicator a configuration is written, a communicator duplicated, and the old values
 * are restored, so only what the library copies into a communicator when it is created can be in
 * force on it afterwards. With knobs=call the values stand while a case runs, so only what the
 * library reads at every call is in force. */
#ifndef PL_KNOB_H
#define PL_KNOB_H

#include "plan.h"

#include <stdbool.h>
#include <stddef.h>

/* What the library was started with, as far as coll/tuned is concerned. */
struct pl_knob_start {
    bool dynamic_rules_off; /* coll_tuned_use_dynamic_rules exists and is false */
    bool rules_file;        /* coll_tuned_dynamic_rules_filename names a file */
};

/* Why `knob` would not be in force on a duplicated communicator of this library, or in its calls,
 * with the remedy; false when nothing speaks against it. `library` is the text of
 * MPI_Get_library_version. That coll/tuned owns the collective on that communicator is not looked
 * at. */
bool pl_knob_obstacle(const char *library, const char *knob, enum pl_switch when,
                      struct pl_knob_start start, char *reason, size_t size);

#endif
