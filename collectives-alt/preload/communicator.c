/* What is known of a communicator, asked once: its size, and which rules can match there at all.
 * It hangs on the communicator with all else that is kept there (kept.c). */
#include "preload.h"
#include "tools.h"

#include <stdlib.h>

static void free_comm_state(void *rules)
{
    struct pl_comm_state *comm_state = rules;
    for (int f = 0; f < PL_FUNCTION_COUNT; f++) {
        free(comm_state->choices[f].options);
        free(comm_state->choices[f].controls);
        free(comm_state->choices[f].decisions);
    }
    free(comm_state);
}

/* Whether processes of another MPI_COMM_WORLD are there. The answer is the same on all ranks. */
static int is_foreign(MPI_Comm comm, int p, bool *foreign)
{
    int rc;
    MPI_Group here = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int *ranks = malloc(2 * (size_t)p * sizeof *ranks);
    if (!ranks)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    for (int rank = 0; rank < p; rank++)
        ranks[rank] = rank;
    PL_TRY(PMPI_Comm_group(comm, &here));
    PL_TRY(PMPI_Comm_group(MPI_COMM_WORLD, &world));
    PL_TRY(PMPI_Group_translate_ranks(here, p, ranks, world, ranks + p));
    for (int rank = 0; rank < p; rank++)
        *foreign = *foreign || ranks[p + rank] == MPI_UNDEFINED;
out:
    if (world != MPI_GROUP_NULL)
        PMPI_Group_free(&world);
    if (here != MPI_GROUP_NULL)
        PMPI_Group_free(&here);
    free(ranks);
    return rc;
}

/* No rule is for inter-communicators, nor for a rank alone; ranks of another job may have other
 * rules, or none. */
static int make_comm_state(MPI_Comm comm, struct pl_kept *kept)
{
    int rc = MPI_SUCCESS;
    struct pl_comm_state *comm_state = calloc(1, sizeof *comm_state);
    if (!comm_state)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    comm_state->kept = kept;
    comm_state->profile = pl_state.number;
    comm_state->p = kept->p;
    comm_state->rank = kept->rank;
    comm_state->inter = kept->inter;
    if (!kept->inter && atomic_load_explicit(&pl_state.merged, memory_order_relaxed))
        PL_TRY(is_foreign(comm, kept->p, &comm_state->foreign));
    const bool left = kept->inter || comm_state->foreign || kept->p == 1;
    for (int f = 0; left && f < PL_FUNCTION_COUNT; f++)
        comm_state->choices[f] =
            (struct pl_choice){.known = true, .untouched = !pl_state.recording};
    kept->rules = comm_state;
    kept->free_rules = free_comm_state;
    return MPI_SUCCESS;
out:
    free(comm_state);
    return rc;
}

static bool holds(struct pl_interval range, long long value)
{
    return range.from <= value && value <= range.to;
}

/* How far q is from p, as larger over smaller. */
struct ratio {
    long long larger, smaller;
};

static struct ratio ratio_of(long long p, long long q)
{
    return p > q ? (struct ratio){p, q} : (struct ratio){q, p};
}

/* The number of processes whose rules hold on p processes: p itself, or, where no rule of the
 * function has p and the profile says so, the nearest one within its factor. */
static long long stand_in(const struct pl_active_rule *first, int count, int p)
{
    long long best = 0;
    for (int i = 0; i < count; i++) {
        const struct pl_interval range = first[i].rule->nprocs;
        if (holds(range, p))
            return p;
        const long long q = p < range.from ? range.from : range.to;
        const struct ratio r = ratio_of(p, q);
        if (r.larger > pl_state.profile.nearest * r.smaller)
            continue;
        const struct ratio b = ratio_of(p, best ? best : q);
        if (!best || r.larger * b.smaller < b.larger * r.smaller ||
            (r.larger * b.smaller == b.larger * r.smaller && q < best))
            best = q;
    }
    return best;
}

/* Decided by the profile and the communicator alone, so equal on all ranks. */
static int choose(MPI_Comm comm, enum pl_function function, const struct pl_comm_state *comm_state,
                  struct pl_choice *choice)
{
    const struct pl_function_state *state = &pl_state.functions[function];
    struct pl_active_rule *first = atomic_load_explicit(&state->first, memory_order_acquire);
    const long long p = stand_in(first, state->count, comm_state->p);
    const struct pl_nodes *nodes = NULL;
    int rc = MPI_SUCCESS, fitting = 0;
    for (int i = 0; i < state->count; i++) {
        if (!holds(first[i].rule->nprocs, p))
            continue;
        fitting++;
        if (!first[i].rule->by_nodes || nodes)
            continue;
        rc = pl_nodes(comm, &nodes);
        if (rc == PL_LEFT) { /* the library has no context id left */
            *choice = (struct pl_choice){.known = true, .untouched = !pl_state.recording};
            return MPI_SUCCESS;
        }
        if (rc != MPI_SUCCESS)
            goto out;
    }
    if (fitting > 0) {
        choice->options = calloc((size_t)fitting, sizeof *choice->options);
        choice->decisions = calloc((size_t)2 * PL_DECISIONS, sizeof *choice->decisions);
        if (pl_state.share > 0)
            choice->controls = calloc((size_t)fitting, sizeof *choice->controls);
        if (!choice->options || !choice->decisions || (pl_state.share > 0 && !choice->controls)) {
            free(choice->options);
            free(choice->controls);
            free(choice->decisions);
            *choice = (struct pl_choice){.known = false};
            return pl_raise(comm, MPI_ERR_NO_MEM);
        }
    }
    for (int i = 0; i < state->count; i++) {
        const struct pl_rule *rule = first[i].rule;
        const bool compared = choice->controls && rule->spec.variant != &pl_canary;
        if (holds(rule->nprocs, p) && (!rule->by_nodes || (holds(rule->nodes, nodes->count) &&
                                                           rule->ppn.from <= nodes->least_ppn &&
                                                           nodes->most_ppn <= rule->ppn.to))) {
            choice->options[choice->count] =
                (struct pl_option){.bytes = rule->bytes,
                                   .rule = &first[i],
                                   .spec = &rule->spec,
                                   .stands_in = p != comm_state->p,
                                   .special = compared,
                                   .control = compared ? &choice->controls[choice->count] : NULL};
            choice->count++;
        }
    }
    choice->known = true;
    choice->untouched = choice->count == 0 && !pl_state.recording;
out:
    return rc;
}

int pl_comm_state_of(MPI_Comm comm, enum pl_function function, struct pl_comm_state **comm_state)
{
    int rc = MPI_SUCCESS;
    struct pl_kept *kept = pl_kept_on(comm);
    if (!kept)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    struct pl_comm_state *last = kept->rules;
    if (last && last->profile != pl_state.number) {
        kept->rules = NULL;
        free_comm_state(last);
    }
    if (!kept->rules)
        PL_TRY(make_comm_state(comm, kept));
    *comm_state = kept->rules;
    if (!(*comm_state)->choices[function].known)
        rc = choose(comm, function, *comm_state, &(*comm_state)->choices[function]);
out:
    return rc;
}
