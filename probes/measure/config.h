/* Configurations in force, one for each config line of the plan. Where communicators keep values
 * (knobs=communicator), it is a communicator; where each call reads them (knobs=call), the values
 * themselves, written before the calls of a case and put back after them; where the launch was
 * started with them (knobs=start), nothing: they are read back, as far as they can be. */
#ifndef PL_CONFIG_H
#define PL_CONFIG_H

#include "measure/groups.h"
#include "plan.h"
#include "system/survey.h"

#define PL_READING 128

struct pl_written; /* a knob's value and what it replaces */

struct pl_config_state {
    MPI_Comm *comms; /* by group; MPI_COMM_NULL where not in force and on ranks outside the group */
    bool in_force;   /* equal on all ranks */
    char reason[384];
    char (*read)[PL_READING]; /* one a knob: what the library says after the write; "" if unread */
    struct pl_written *written; /* knobs=call: what the calls of a case need; else NULL */
    int written_count;
    bool own_comms; /* `comms` are duplicates that end with this state */
};

/* Collective. Writes the knobs, reads them back, duplicates the launch's communicator for each
 * group (not for knobs=call: libraries keep fast paths for the first communicators), restores the
 * old values. With knobs=start rank 0 compares what `survey` says; a knob that is no variable of
 * MPI_T, or an unreadable one, stays unproven (`read` is ""). False when memory is short or an old
 * value could not be restored
 * (`reason` says which): what comes later would be measured under a knob that nobody asked for. */
bool pl_config_open(struct pl_config_state *state, const struct pl_groups *groups,
                    const struct pl_config *config, enum pl_switch when, const char *library,
                    struct pl_survey *survey);
/* Config `default`: the launch's communicator itself and what `groups` made of it. False: out of
 * memory. */
bool pl_config_open_default(struct pl_config_state *state, const struct pl_groups *groups);
void pl_config_close(struct pl_config_state *state, const struct pl_groups *groups);

/* Around the calls of a case, outside timed regions, on each of its ranks: with knobs=call the
 * values are in force between the two, and nothing happens else. A value that was in force when the
 * config was opened and is refused now, or cannot be put back, aborts: nothing may be measured
 * under a knob that nobody asked for. */
void pl_config_enter(const struct pl_config_state *state);
void pl_config_leave(const struct pl_config_state *state);

#endif
