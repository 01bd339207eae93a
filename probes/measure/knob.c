/* Open MPI's coll/tuned copies the forced algorithm of a collective and its parameters into each
 * communicator (coll_tuned_module.c, tuned_module_enable), all but the radix of the k-nomial tree,
 * which it reads at every call. MPICH and its descendants read all their variables at every call.
 * Before 4.1.7 and 5.0.6 forced algorithms are copied only if coll_tuned_use_dynamic_rules was set
 * when the process started; later releases let it be written at any time and honour the algorithm
 * alone. */
#include "measure/knob.h"

#include <stdio.h>
#include <string.h>

struct version {
    int major, minor, release;
};

/* A version that cannot be read counts as an old one: in doubt a knob is not in force. */
static struct version version_of(const char *library)
{
    struct version v;
    if (sscanf(library, "Open MPI v%d.%d.%d", &v.major, &v.minor, &v.release) != 3)
        v = (struct version){0, 0, 0};
    return v;
}

static bool needs_dynamic_rules(struct version v)
{
    if (v.major == 4)
        return v.minor < 1 || (v.minor == 1 && v.release < 7);
    if (v.major == 5)
        return v.minor == 0 && v.release < 6;
    return v.major < 4;
}

bool pl_knob_obstacle(const char *library, const char *knob, struct pl_knob_start start,
                      char *reason, size_t size)
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
    if (start.dynamic_rules_off && needs_dynamic_rules(version_of(library))) {
        snprintf(reason, size,
                 "%s: this release ignores it while coll_tuned_use_dynamic_rules is false; start "
                 "with OMPI_MCA_coll_tuned_use_dynamic_rules=1",
                 knob);
        return true;
    }
    if (start.rules_file && version_of(library).major < 5) {
        snprintf(reason, size,
                 "%s: in this release a rules file comes first; start without "
                 "coll_tuned_dynamic_rules_filename",
                 knob);
        return true;
    }
    return false;
}
