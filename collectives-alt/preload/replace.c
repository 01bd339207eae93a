/* The decision, made before any message from values that are equal on all ranks: the function, the
 * communicator, the volume; then what the standard makes equal on all ranks of a reduction, for the
 * classes of a rule and the variant's restrictions. Whatever has no such values
 * (inter-communicators, arguments that are not legal, more than fits an int) goes to the library
 * untouched, which knows how to complain; by way of tools that are preloaded behind this one. */
#include "classes.h"
#include "preload.h"

const struct pl_call pl_no_call = {.function = PL_FUNCTION_COUNT};

/* True where every kind is good, which need not be looked up. */
static bool is_any(unsigned kinds)
{
    return kinds == PL_ANY_CLASS;
}

static bool fits_classes(const struct pl_rule *rule, const struct pl_call *call)
{
    return (is_any(rule->ops) || (call->op != MPI_OP_NULL && (rule->ops & pl_op_kind(call->op)))) &&
           (is_any(rule->types) || (rule->types & pl_type_kind(call->recvtype)));
}

/* What is found for a call. */
struct found {
    struct pl_option *option; /* NULL: nothing */
    long long bytes;
    size_t scratch; /* pl_scratch_bound; 0 for the canary */
};

/* The canary is a variant of every function and has no obstacles. What is too much memory alone is
 * not replaced. */
static bool may_run(const struct pl_variant *variant, const struct pl_call *call, int p,
                    struct found *found)
{
    if (variant == &pl_canary)
        return true;
    if (pl_counted_obstacles(variant, call) != 0)
        return false;
    found->scratch = pl_scratch_bound(variant, call, found->bytes, p);
    return found->scratch <= pl_state.profile.memory;
}

static struct found find(const struct pl_comm_state *comm_state, const struct pl_call *call)
{
    const struct pl_choice *choice = &comm_state->choices[call->function];
    struct found found = {NULL, 0, 0};
    if (choice->count == 0 || !pl_legal(call, comm_state))
        return found;
    const long long bytes = pl_volume_on(call, comm_state->p, comm_state->rank);
    if (bytes != PL_LOCAL_VOLUME) /* rules for such functions are for all volumes */
        found.bytes = bytes;
    if (found.bytes < 0)
        return found;
    for (int i = 0; i < choice->count; i++) {
        struct pl_option *option = &choice->options[i];
        const struct pl_rule *rule = option->rule->rule;
        if (option->bytes.from > found.bytes)
            break;
        if (option->bytes.to >= found.bytes && fits_classes(rule, call)) {
            if (may_run(rule->spec.variant, call, comm_state->p, &found))
                found.option = option;
            break;
        }
    }
    return found;
}

/* False before MPI_Init and after MPI_Finalize. */
static bool loaded(struct pl_function_state *state)
{
    int initialized = 0, finalized = 0;
    if (atomic_load_explicit(&state->first, memory_order_acquire) != pl_unloaded)
        return true;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    if (!initialized || finalized)
        return false;
    pl_load(false);
    return true;
}

/* The first call on a communicator, or the first of its function there. */
static int find_comm_state(const struct pl_call *call, struct pl_comm_state **comm_state)
{
    struct pl_function_state *state = &pl_state.functions[call->function];
    *comm_state = NULL;
    if (!loaded(state) || !atomic_load_explicit(&state->first, memory_order_acquire) ||
        call->comm == MPI_COMM_NULL)
        return MPI_SUCCESS;
    return pl_comm_state_of(call->comm, call->function, comm_state);
}

static void count(const struct found *found, struct pl_function_state *state)
{
    const struct pl_option *option = found->option;
    pl_count(&option->rule->replaced, 1);
    if (option->stands_in)
        pl_count(&option->rule->nearest, 1);
    pl_count(&state->replaced, 1);
    pl_count(&state->bytes, found->bytes);
}

/* A variant that was left once is left for good: all ranks know. */
static int run(const struct found *found, const struct pl_call *call,
               const struct pl_comm_state *comm_state)
{
    struct pl_option *option = found->option;
    struct pl_function_state *state = &pl_state.functions[call->function];
    if (!option->left) {
        struct pl_kept *kept = found->scratch ? pl_scratch_begin(call->comm, found->scratch) : NULL;
        const int rc = pl_run(&option->rule->rule->spec, call, comm_state);
        pl_scratch_end(kept);
        if (rc != PL_LEFT) {
            count(found, state);
            return rc;
        }
        option->left = true;
    }
    pl_count(&state->crowded, 1);
    return pl_call_next(call);
}

int pl_decide(const struct pl_call *call)
{
    struct found found = {NULL, 0, 0};
    struct pl_comm_state *comm_state = pl_last_comm_state(call->comm);
    if (!comm_state || !comm_state->choices[call->function].known) {
        const int rc = find_comm_state(call, &comm_state);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    if (comm_state)
        found = find(comm_state, call);
    return found.option ? run(&found, call, comm_state) : pl_call_next(call);
}

int pl_replace(const struct pl_call *call)
{
    return pl_state.recording ? pl_record(call) : pl_decide(call);
}
