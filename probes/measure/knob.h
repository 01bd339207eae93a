/* Which control variables a communicator keeps. Pure.
 *
 * A configuration is written, a communicator duplicated, and the old values are restored, so only
 * what the library copies into a communicator when it is created can be in force on it afterwards.
 */
#ifndef PL_KNOB_H
#define PL_KNOB_H

#include <stdbool.h>
#include <stddef.h>

/* Why `knob` would not be in force on a duplicated communicator of this library, with the remedy;
 * false when nothing speaks against it. `library` is the text of MPI_Get_library_version;
 * `dynamic_rules_off` says that coll_tuned_use_dynamic_rules exists and is false. */
bool pl_knob_obstacle(const char *library, const char *knob, bool dynamic_rules_off, char *reason,
                      size_t size);

#endif
