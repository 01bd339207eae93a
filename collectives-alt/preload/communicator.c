/* What is known of a communicator, asked once: its size, and which rules can match there at all.
 * It hangs on the communicator as an attribute; the last one of each thread is remembered, so that
 * most calls need not ask MPI. */
#include "preload.h"
#include "tools.h"

#include <pthread.h>
#include <stdlib.h>

PL_A_THREAD struct pl_last pl_last;
atomic_uint pl_generation = 1; /* not that of an empty pl_last */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int keyval = MPI_KEYVAL_INVALID;

static int delete_comm_state(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    struct pl_comm_state *comm_state = value;
    atomic_fetch_add_explicit(&pl_generation, 1, memory_order_release);
    for (int f = 0; f < PL_FUNCTION_COUNT; f++)
        free(comm_state->choices[f].options);
    free(comm_state);
    return MPI_SUCCESS;
}

static void make_keyval(void)
{
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm_state, &keyval, NULL);
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
static int make_comm_state(MPI_Comm comm, struct pl_comm_state **made)
{
    int rc, inter = 0;
    struct pl_comm_state *comm_state = calloc(1, sizeof *comm_state);
    if (!comm_state)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    PL_TRY(PMPI_Comm_test_inter(comm, &inter));
    PL_TRY(PMPI_Comm_size(comm, &comm_state->p));
    PL_TRY(PMPI_Comm_rank(comm, &comm_state->rank));
    comm_state->inter = inter;
    if (!inter && atomic_load_explicit(&pl_state.merged, memory_order_relaxed))
        PL_TRY(is_foreign(comm, comm_state->p, &comm_state->foreign));
    const bool left = inter || comm_state->foreign || comm_state->p == 1;
    for (int f = 0; left && f < PL_FUNCTION_COUNT; f++)
        comm_state->choices[f] =
            (struct pl_choice){.known = true, .untouched = !pl_state.recording};
    PL_TRY(PMPI_Comm_set_attr(comm, keyval, comm_state));
    *made = comm_state;
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
    if (fitting > 0 && !(choice->options = calloc((size_t)fitting, sizeof *choice->options)))
        return pl_raise(comm, MPI_ERR_NO_MEM);
    for (int i = 0; i < state->count; i++) {
        const struct pl_rule *rule = first[i].rule;
        if (holds(rule->nprocs, p) && (!rule->by_nodes || (holds(rule->nodes, nodes->count) &&
                                                           rule->ppn.from <= nodes->least_ppn &&
                                                           nodes->most_ppn <= rule->ppn.to)))
            choice->options[choice->count++] =
                (struct pl_option){rule->bytes, &first[i], p != comm_state->p, false};
    }
    choice->known = true;
    choice->untouched = choice->count == 0 && !pl_state.recording;
out:
    return rc;
}

int pl_comm_state_of(MPI_Comm comm, enum pl_function function, struct pl_comm_state **comm_state)
{
    int rc = MPI_SUCCESS, found = 0;
    struct pl_comm_state *here = pl_last_comm_state(comm);
    if (!here) {
        pthread_once(&once, make_keyval);
        PL_TRY(PMPI_Comm_get_attr(comm, keyval, &here, &found));
        if (!found)
            PL_TRY(make_comm_state(comm, &here));
        const unsigned now = atomic_load_explicit(&pl_generation, memory_order_acquire);
        pl_last = (struct pl_last){.comm = comm, .generation = now, .comm_state = here};
    }
    *comm_state = here;
    if (!here->choices[function].known)
        rc = choose(comm, function, here, &here->choices[function]);
out:
    return rc;
}
