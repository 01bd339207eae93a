/* Open MPI's coll/tuned copies the forced algorithm of a collective and its parameters into each
 * communicator (coll_tuned_module.c, tuned_module_enable), all but the radix of the k-nomial tree,
 * which it reads at every call. MPICH and its descendants read all their variables at every call.
 * Before 4.1.7 and 5.0.6 forced algorithms are copied only if coll_tuned_use_dynamic_rules was set
 * when the process started; later releases let it be written at any time and honour the algorithm
 * alone. */
#include "measure/knob.h"

#include <stdio.h>
#include <string.h>

static bool needs_dynamic_rules(const char *library)
{
    int major, minor, release;
    if (sscanf(library, "Open MPI v%d.%d.%d", &major, &minor, &release) != 3)
        return true;
    if (major == 4)
        return minor < 1 || (minor == 1 && release < 7);
    if (major == 5)
        return minor == 0 && release < 6;
    return major < 4;
}

bool pl_knob_obstacle(const char *library, const char *knob, bool dynamic_rules_off, char *reason,
                      size_t size)
{
    if (strncmp(library, "Open MPI", 8) != 0) {
        snprintf(reason, size,
                 "%s: this library keeps no variables on a communicator; set it at start", knob);
        return true;
    }
    if (strncmp(knob, "coll_tuned_", 11) != 0 || !strstr(knob, "_algorithm") ||
        strstr(knob, "_algorithm_knomial_radix")) {
        snprintf(reason, size, "%s: not kept on a communicator; set it at start with OMPI_MCA_%s",
                 knob, knob);
        return true;
    }
    if (dynamic_rules_off && needs_dynamic_rules(library)) {
        snprintf(reason, size,
                 "%s: this release ignores it while coll_tuned_use_dynamic_rules is false; start "
                 "with OMPI_MCA_coll_tuned_use_dynamic_rules=1",
                 knob);
        return true;
    }
    return false;
}
