/* Configurations in force: a communicator for each config line of the plan. */
#ifndef PL_CONFIG_H
#define PL_CONFIG_H

#include "measure/groups.h"
#include "plan.h"

#define PL_READING 128

struct pl_config_state {
    MPI_Comm *comms; /* by group; MPI_COMM_NULL where not in force and on ranks outside the group */
    bool in_force;   /* equal on all ranks */
    char reason[384];
    char (*read)[PL_READING]; /* one a knob: what the library says after the write; "" if unread */
};

/* Collective. Writes the knobs, reads them back, duplicates MPI_COMM_WORLD for each group,
 * restores the old values. False when memory is short or an old value could not be restored
 * (`reason` says which): what comes later would be measured under a knob that nobody asked for. */
bool pl_config_open(struct pl_config_state *state, const struct pl_groups *groups,
                    const struct pl_config *config, const char *library);
/* Config `default`: MPI_COMM_WORLD itself and what `groups` made of it. False: out of memory. */
bool pl_config_open_default(struct pl_config_state *state, const struct pl_groups *groups);
void pl_config_close(struct pl_config_state *state, const struct pl_groups *groups);

#endif
