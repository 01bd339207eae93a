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

/* Never more than the cap: what would not fit beside the memory that is kept gets it all; what is
 * too much alone is not replaced. The first is decided on this rank alone, and changes no result.
 */
static bool fits_memory(const struct pl_variant *variant, const struct pl_call *call,
                        long long bytes, int p)
{
    const size_t cap = pl_state.profile.memory;
    const size_t bound = pl_scratch_bound(variant, call, bytes, p);
    if (bound > cap)
        return false;
    if (pl_scratch_kept(call->comm) > cap - bound)
        pl_scratch_release(call->comm);
    return true;
}

/* The canary is a variant of every function and has no obstacles. */
static bool may_run(const struct pl_variant *variant, const struct pl_call *call, long long bytes,
                    int p)
{
    return variant == &pl_canary ||
           (pl_counted_obstacles(variant, call) == 0 && fits_memory(variant, call, bytes, p));
}

static const struct pl_option *find(const struct pl_place *place, const struct pl_call *call,
                                    long long *bytes)
{
    const struct pl_choice *choice = &place->choices[call->function];
    if (choice->count == 0 || !pl_legal(call, place))
        return NULL;
    *bytes = pl_volume_on(call, place->p, place->rank);
    if (*bytes == PL_LOCAL_VOLUME) /* rules for such functions are for all volumes */
        *bytes = 0;
    if (*bytes < 0)
        return NULL;
    for (int i = 0; i < choice->count; i++) {
        const struct pl_option *option = &choice->options[i];
        const struct pl_rule *rule = option->rule->rule;
        if (option->bytes.from > *bytes)
            break;
        if (option->bytes.to >= *bytes && fits_classes(rule, call))
            return may_run(rule->spec.variant, call, *bytes, place->p) ? option : NULL;
    }
    return NULL;
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
static int find_place(const struct pl_call *call, struct pl_place **place)
{
    struct pl_function_state *state = &pl_state.functions[call->function];
    *place = NULL;
    if (!loaded(state) || !atomic_load_explicit(&state->first, memory_order_acquire) ||
        call->comm == MPI_COMM_NULL)
        return MPI_SUCCESS;
    return pl_place_of(call->comm, call->function, place);
}

static int run(const struct pl_option *option, const struct pl_call *call,
               const struct pl_place *place, long long bytes)
{
    struct pl_active_rule *rule = option->rule;
    struct pl_function_state *state = &pl_state.functions[call->function];
    pl_count(&rule->replaced, 1);
    if (option->stands_in)
        pl_count(&rule->nearest, 1);
    pl_count(&state->replaced, 1);
    pl_count(&state->bytes, bytes);
    return pl_run(&rule->rule->spec, call, place);
}

int pl_decide(const struct pl_call *call)
{
    long long bytes;
    struct pl_place *place = pl_last_place(call->comm);
    if (!place || !place->choices[call->function].known) {
        const int rc = find_place(call, &place);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    const struct pl_option *option = place ? find(place, call, &bytes) : NULL;
    return option ? run(option, call, place, bytes) : pl_call_next(call);
}

int pl_replace(const struct pl_call *call)
{
    return pl_state.recording ? pl_record(call) : pl_decide(call);
}
