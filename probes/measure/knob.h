/* Which control variables a communicator keeps. Pure.
 *
 * A configuration is written, a communicator duplicated, and the old values are restored, so only
 * what the library copies into a communicator when it is created can be in force on it afterwards.
 */
#ifndef PL_KNOB_H
#define PL_KNOB_H

#include <stdbool.h>
#include <stddef.h>

/* What the library was started with, as far as coll/tuned is concerned. */
struct pl_knob_start {
    bool dynamic_rules_off; /* coll_tuned_use_dynamic_rules exists and is false */
    bool rules_file;        /* coll_tuned_dynamic_rules_filename names a file */
};

/* Why `knob` would not be in force on a duplicated communicator of this library, with the remedy;
 * false when nothing speaks against it. `library` is the text of MPI_Get_library_version. That
 * coll/tuned owns the collective on that communicator is not looked at. */
bool pl_knob_obstacle(const char *library, const char *knob, struct pl_knob_start start,
                      char *reason, size_t size);

#endif
