/* Open MPI's coll/tuned copies the forced algorithm of a collective and its parameters into each
 * communicator (coll_tuned_module.c, tuned_module_enable), all but the radix of the k-nomial tree,
 * which it reads at every call. Components offer themselves to each new communicator by their
 * priority; what else coll/han, coll/adapt and coll/libnbc have is read at every call. MPICH and
 * its descendants read the variables of a collective at every call; what shapes trees and shared
 * memory is read when MPI or a communicator comes up. Before 4.1.7 and 5.0.6 forced algorithms are
 * copied only if coll_tuned_use_dynamic_rules was set when the process started; later releases let
 * it be written at any time and honour the algorithm alone. */
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

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool read_at_calls(const char *knob)
{
    static const char *const ends[] = {
        "_INTRA_ALGORITHM",
        "_DEVICE_COLLECTIVE",
        "_DEVICE_COLLECTIVES",
        "_COMPOSITION",
        "_KVAL",
        "_CHUNK_SIZE",
        "_THROTTLE",
        "_SINGLE_PHASE_RECV",
        "_BUFFER_PER_CHILD",
        "_IS_NON_BLOCKING",
        "_RECV_PRE_POST",
        "_FALLBACK",
        "ALLGATHERV_PIPELINE_MSG_SIZE",
    };
    if (strncmp(knob, "MPIR_CVAR_", 10) != 0 || strstr(knob, "_INTRANODE_"))
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(knob, ends[i]))
            return true;
    return false;
}

static bool call_obstacle(const char *library, const char *knob, char *reason, size_t size)
{
    if (strncmp(library, "MPICH", 5) != 0 && strncmp(library, "MVAPICH Version", 15) != 0) {
        snprintf(reason, size,
                 "%s: this library does not read its variables at every call; set it at start",
                 knob);
        return true;
    }
    if (read_at_calls(knob))
        return false;
    snprintf(reason, size, "%s: not read at every call; set it at start, in the environment", knob);
    return true;
}

/* Of Open MPI, by a communicator: what coll/tuned copies into it. */
static bool kept_by_tuned(const char *knob)
{
    return strncmp(knob, "coll_tuned_", 11) == 0 && strstr(knob, "_algorithm") &&
           !strstr(knob, "_algorithm_knomial_radix");
}

/* Of Open MPI: who answers on a communicator. Other components' are constant while MPI runs. */
static bool chooses_component(const char *knob)
{
    static const char *const names[] = {"coll_adapt_priority", "coll_basic_priority",
                                        "coll_han_priority", "coll_tuned_priority"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(knob, names[i]) == 0)
            return true;
    return false;
}

bool pl_knob_obstacle(const char *library, const char *knob, enum pl_switch when,
                      struct pl_knob_start start, char *reason, size_t size)
{
    if (when == PL_SWITCH_CALL)
        return call_obstacle(library, knob, reason, size);
    if (strncmp(library, "Open MPI", 8) != 0) {
        snprintf(reason, size,
                 "%s: this library keeps no variables on a communicator; set it at start", knob);
        return true;
    }
    if (chooses_component(knob))
        return false;
    if (!kept_by_tuned(knob)) {
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
