/* MPI_T writes around an MPI_Comm_dup, or around the calls of a case. */
#include "measure/config.h"

#include "measure/knob.h"
#include "system/cvar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pl_written {
    struct pl_cvar cvar;
    struct pl_cvar_value wanted, old;
};

/* The text of a variable, "" where there is none. */
static void text_of(const char *name, char text[PL_READING])
{
    struct pl_cvar cvar;
    struct pl_cvar_value value;
    text[0] = '\0';
    if (pl_cvar_find(name, &cvar) && pl_cvar_read(&cvar, &value) == MPI_SUCCESS)
        pl_cvar_format(&cvar, &value, text, PL_READING);
}

static struct pl_knob_start started_with(void)
{
    char rules[PL_READING], file[PL_READING];
    text_of("coll_tuned_use_dynamic_rules", rules);
    text_of("coll_tuned_dynamic_rules_filename", file);
    return (struct pl_knob_start){strcmp(rules, "0") == 0, *file != '\0'};
}

/* The value as text, in the form the plan used: a name where `wanted` is no number. */
static void reading(const struct pl_cvar *cvar, const struct pl_cvar_value *value,
                    const char *wanted, char text[PL_READING])
{
    char name[PL_READING], number[16];
    int item;
    pl_cvar_format(cvar, value, text, PL_READING);
    if (strspn(wanted, "-0123456789") == strlen(wanted))
        return;
    for (int i = 0; i < pl_cvar_enumerators(cvar); i++) {
        if (!pl_cvar_enumerator(cvar, i, &item, name, sizeof name))
            continue;
        snprintf(number, sizeof number, "%d", item);
        if (strcmp(number, text) == 0) {
            memcpy(text, name, sizeof name);
            return;
        }
    }
}

static bool same_value(const struct pl_cvar *cvar, const struct pl_cvar_value *a,
                       const struct pl_cvar_value *b)
{
    char left[PL_CVAR_TEXT], right[PL_CVAR_TEXT];
    pl_cvar_format(cvar, a, left, sizeof left);
    pl_cvar_format(cvar, b, right, sizeof right);
    return strcmp(left, right) == 0;
}

/* Write one knob and read it back. 1: written; 0: `reason` says why the old value still stands. A
 * value that was written but reads back differently counts as written, with a reason. */
static int write_knob(const struct pl_knob *knob, enum pl_switch when, const char *library,
                      struct pl_written *undo, char read[PL_READING], char *reason, size_t size)
{
    struct pl_cvar *cvar = &undo->cvar;
    struct pl_cvar_value *wanted = &undo->wanted, now;

    if (!pl_cvar_find(knob->name, cvar)) {
        snprintf(reason, size, "%s: the library has no such control variable", knob->name);
        return 0;
    }
    if (!pl_cvar_writable(cvar)) {
        snprintf(reason, size, "%s: cannot be written at run time (scope %s); set it at start",
                 knob->name, pl_cvar_scope_name(cvar));
        return 0;
    }
    /* Only what takes effect is touched: reading others may crash (system/survey.h). */
    if (pl_knob_obstacle(library, knob->name, when, (struct pl_knob_start){false, false}, reason,
                         size))
        return 0;
    if (pl_cvar_read(cvar, &undo->old) != MPI_SUCCESS) {
        snprintf(reason, size, "%s: cannot be read", knob->name);
        return 0;
    }
    reading(cvar, &undo->old, knob->value, read);
    if (pl_knob_obstacle(library, knob->name, when, started_with(), reason, size))
        return 0;
    if (!pl_cvar_parse(cvar, knob->value, &undo->old, wanted)) {
        snprintf(reason, size, "%s: '%s' is no value of type %s and no enumerator", knob->name,
                 knob->value, pl_cvar_type_name(cvar));
        return 0;
    }
    if (pl_cvar_write(cvar, wanted) != MPI_SUCCESS) {
        snprintf(reason, size, "%s: the library refuses the value '%s'", knob->name, knob->value);
        return 0;
    }
    if (pl_cvar_read(cvar, &now) != MPI_SUCCESS) {
        snprintf(reason, size, "%s: cannot be read back", knob->name);
        return 1;
    }
    reading(cvar, &now, knob->value, read);
    if (!same_value(cvar, &now, wanted))
        snprintf(reason, size, "%s: '%s' was written, '%s' reads back", knob->name, knob->value,
                 read);
    return 1;
}

/* Whether a variable has the value that the launch was started with; `reason` says that it has not.
 */
static void compare_knob(const struct pl_knob *knob, struct pl_survey *survey,
                         char read[PL_READING], char *reason, size_t size)
{
    struct pl_cvar cvar;
    struct pl_cvar_value wanted, unset = {.count = 1};
    char expected[PL_CVAR_TEXT];
    const char *text = pl_survey_value(survey, knob->name);

    if (!text || !pl_cvar_find(knob->name, &cvar))
        return;
    snprintf(read, PL_READING, "%s", text);
    snprintf(expected, sizeof expected, "%s", knob->value);
    if (cvar.type != MPI_CHAR && pl_cvar_parse(&cvar, knob->value, &unset, &wanted))
        pl_cvar_format(&cvar, &wanted, expected, sizeof expected);
    if (strcmp(text, expected) != 0)
        snprintf(reason, size, "%s: started with '%s', '%s' reads back", knob->name, knob->value,
                 read);
}

static bool restore(const struct pl_written *undo, char *reason, size_t size)
{
    struct pl_cvar_value now;
    if (pl_cvar_write(&undo->cvar, &undo->old) == MPI_SUCCESS &&
        pl_cvar_read(&undo->cvar, &now) == MPI_SUCCESS && same_value(&undo->cvar, &now, &undo->old))
        return true;
    snprintf(reason, size, "%s: the old value could not be restored", undo->cvar.name);
    return false;
}

static MPI_Comm *no_communicators(const struct pl_groups *groups)
{
    MPI_Comm *comms = malloc((size_t)groups->count * sizeof *comms);
    for (int i = 0; comms && i < groups->count; i++)
        comms[i] = MPI_COMM_NULL;
    return comms;
}

/* While the knobs are written: what is made of the launch's communicator keeps them. */
static int make_communicators(const struct pl_groups *groups, MPI_Comm *comms)
{
    MPI_Comm all;
    int rc = PMPI_Comm_dup(groups->world->comm, &all);
    return rc == MPI_SUCCESS ? pl_groups_split(groups, all, comms) : rc;
}

/* What `groups` made of the launch's communicator, and that itself. */
static void share_communicators(const struct pl_groups *groups, MPI_Comm *comms)
{
    for (int i = 0; i < groups->count; i++)
        comms[i] = groups->group[i].comm;
}

bool pl_config_open_default(struct pl_config_state *state, const struct pl_groups *groups)
{
    *state = (struct pl_config_state){.in_force = true, .comms = no_communicators(groups)};
    if (pl_p2p_agree(groups->world, !state->comms))
        return false;
    share_communicators(groups, state->comms);
    return true;
}

/* All ranks take part whatever happened to them, so that nobody waits in MPI_Comm_dup alone. */
bool pl_config_open(struct pl_config_state *state, const struct pl_groups *groups,
                    const struct pl_config *config, enum pl_switch when, const char *library,
                    struct pl_survey *survey)
{
    const struct pl_world *world = groups->world;
    const bool at_calls = when == PL_SWITCH_CALL && config->knob_count > 0;
    size_t knobs = (size_t)config->knob_count;
    struct pl_written *undo = calloc(knobs + 1, sizeof *undo);
    int written = 0;
    bool good;

    *state = (struct pl_config_state){.comms = no_communicators(groups)};
    state->read = calloc(knobs + 1, sizeof *state->read);
    good = undo && state->read && state->comms;
    if (!good)
        snprintf(state->reason, sizeof state->reason, "out of memory");
    if (pl_p2p_agree(world, !good))
        goto out;

    const bool at_start = when == PL_SWITCH_START;
    for (int i = 0; at_start && i < config->knob_count && world->rank == 0; i++)
        compare_knob(&config->knobs[i], survey, state->read[i], state->reason,
                     sizeof state->reason);
    for (int i = 0; !at_start && i < config->knob_count && !*state->reason; i++)
        written += write_knob(&config->knobs[i], when, library, &undo[written], state->read[i],
                              state->reason, sizeof state->reason);
    state->in_force = !pl_p2p_agree(world, *state->reason != '\0');
    if (state->in_force && at_start) {
        share_communicators(groups, state->comms);
    } else if (state->in_force && at_calls) {
        share_communicators(groups, state->comms);
        state->written = undo;
        state->written_count = written;
    } else if (state->in_force) {
        int rc = make_communicators(groups, state->comms);
        state->own_comms = true;
        if (pl_p2p_agree(world, rc != MPI_SUCCESS)) {
            snprintf(state->reason, sizeof state->reason, "MPI_Comm_dup failed with these knobs");
            state->in_force = false;
        }
    }
    if (state->own_comms && state->comms[0] != MPI_COMM_NULL)
        PMPI_Comm_set_errhandler(state->comms[0], MPI_ERRORS_RETURN);
    if (!state->in_force && !*state->reason)
        snprintf(state->reason, sizeof state->reason, "could not be put in force on every rank");
    while (written > 0)
        good &= restore(&undo[--written], state->reason, sizeof state->reason);
out:
    if (!state->written)
        free(undo);
    return !pl_p2p_agree(world, !good);
}

void pl_config_close(struct pl_config_state *state, const struct pl_groups *groups)
{
    if (state->own_comms && state->comms[0] != MPI_COMM_NULL) {
        pl_groups_free(groups, state->comms);
        PMPI_Comm_free(&state->comms[0]);
    }
    free(state->comms);
    free(state->read);
    free(state->written);
    *state = (struct pl_config_state){0};
}

static void abort_over(const struct pl_written *knob)
{
    fprintf(stderr, "probe: %s: the library takes no value for it any more\n", knob->cvar.name);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

void pl_config_enter(const struct pl_config_state *state)
{
    for (int i = 0; i < state->written_count; i++)
        if (pl_cvar_write(&state->written[i].cvar, &state->written[i].wanted) != MPI_SUCCESS)
            abort_over(&state->written[i]);
}

void pl_config_leave(const struct pl_config_state *state)
{
    for (int i = state->written_count; i-- > 0;)
        if (pl_cvar_write(&state->written[i].cvar, &state->written[i].old) != MPI_SUCCESS)
            abort_over(&state->written[i]);
}
