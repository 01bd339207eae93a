/* The decision, made before any message from values that are equal on all ranks: the function, the
 * number of processes, the volume; then what the standard makes equal for the variant's
 * restrictions. Whatever has no such values (inter-communicators, arguments that are not legal,
 * more than fits an int) goes to the library untouched, which knows how to complain. */
#include "preload.h"

/* A locked instruction a counter would be felt in a call of a microsecond, so it is spent only
 * where threads may count at the same time. */
static void count(atomic_llong *counter, long long more)
{
    if (pl_state.threads)
        atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
    else
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                              memory_order_relaxed);
}

/* The canary is a variant of every function and has no obstacles. */
static bool may_run(const struct pl_variant *variant, const struct pl_call *call)
{
    return variant == &pl_canary || pl_counted_obstacles(variant, call) == 0;
}

static struct pl_active_rule *find(const struct pl_function_state *state,
                                   struct pl_active_rule *first, const struct pl_call *call,
                                   long long *bytes)
{
    int p;
    *bytes = pl_volume_and_size(call, &p);
    if (*bytes < 0)
        return NULL;
    for (int i = 0; i < state->count; i++) {
        const struct pl_rule *rule = first[i].rule;
        if (rule->nprocs_from <= p && p <= rule->nprocs_to && rule->bytes_from <= *bytes &&
            *bytes <= rule->bytes_to)
            return may_run(rule->variant, call) ? &first[i] : NULL;
    }
    return NULL;
}

int pl_replace(const struct pl_call *call)
{
    struct pl_function_state *state = &pl_state.functions[call->function];
    struct pl_active_rule *first = atomic_load_explicit(&state->first, memory_order_acquire);
    if (first == pl_unloaded) {
        int initialized = 0, finalized = 0;
        PMPI_Initialized(&initialized);
        PMPI_Finalized(&finalized);
        if (!initialized || finalized)
            return pl_call_pmpi(call);
        pl_load(false);
        first = atomic_load_explicit(&state->first, memory_order_acquire);
    }
    if (!first)
        return pl_call_pmpi(call);

    long long bytes;
    struct pl_active_rule *rule = find(state, first, call, &bytes);
    count(&state->calls, 1);
    if (!rule)
        return pl_call_pmpi(call);
    count(&rule->replaced, 1);
    count(&state->replaced, 1);
    count(&state->bytes, bytes);
    return rule->rule->variant->run(call);
}
