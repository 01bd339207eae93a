/* The decision, made before any message from values that are equal on all ranks: the function, the
 * communicator, the volume; then what the standard makes equal on all ranks of a reduction, for the
 * classes of a rule and the variant's restrictions. Whatever has no such values
 * (inter-communicators, arguments that are not legal, more than fits an int) goes to the library
 * untouched, which knows how to complain; by way of tools that are preloaded behind this one. */
#include "classes.h"
#include "inner.h"
#include "preload.h"

/* True where every kind is good, which need not be looked up. */
static bool is_any(unsigned kinds)
{
    return kinds == PL_ANY_CLASS;
}

static bool has_equal_counts(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    struct pl_table table;
    int size = 0;
    PMPI_Type_size(call->recvtype, &size);
    return pl_add_up(call->recvcounts, call->recvcounts, comm_state, &table) &&
           table.spread * size <= PL_EQUAL_WITHIN;
}

static bool fits_classes(const struct pl_rule *rule, const struct pl_call *call)
{
    return (is_any(rule->ops) || (call->op != MPI_OP_NULL && (rule->ops & pl_op_kind(call->op)))) &&
           (is_any(rule->types) || (rule->types & pl_type_kind(call->recvtype)));
}

/* The tamper check is a variant of every function and has no obstacles. What is too much memory
 * alone is not replaced. */
static bool may_run(const struct pl_variant *variant, const struct pl_call *call, int p,
                    struct pl_verdict *way)
{
    if (variant == &pl_canary)
        return true;
    if (pl_counted_obstacles(variant, call) != 0)
        return false;
    way->scratch = pl_scratch_bound(variant, call, way->bytes, p);
    return way->scratch <= pl_state.profile.memory;
}

static struct pl_option *option_for(const struct pl_comm_state *comm_state,
                                    const struct pl_call *call, long long bytes)
{
    const struct pl_choice *choice = &comm_state->choices[call->function];
    for (int i = 0; i < choice->count && choice->options[i].bytes.from <= bytes; i++) {
        const struct pl_rule *rule = choice->options[i].rule->rule;
        if (choice->options[i].bytes.to >= bytes && fits_classes(rule, call) &&
            (!rule->equal_counts || has_equal_counts(call, comm_state)))
            return &choice->options[i];
    }
    return NULL;
}

/* True where the way of this call is that of all calls with the same arguments. The library is
 * asked about handles that may be none (pl_legal) before anything else is asked about them. */
static bool find(const struct pl_comm_state *comm_state, const struct pl_call *call,
                 struct pl_verdict *way)
{
    const bool lasts = pl_lasts(call, comm_state);
    if (!lasts && !pl_legal(call, comm_state))
        return false;
    const long long bytes = pl_volume_on(call, comm_state->p, comm_state->rank);
    if (bytes != PL_LOCAL_VOLUME) /* rules for such functions are for all volumes */
        way->bytes = bytes;
    if (way->bytes < 0)
        return false;
    struct pl_option *option = option_for(comm_state, call, way->bytes);
    if (!option)
        return lasts;
    if (lasts && !pl_legal(call, comm_state))
        return false;
    if (may_run(option->rule->rule->spec.variant, call, comm_state->p, way))
        way->option = option;
    return lasts && !(way->option && pl_unfit(call, comm_state));
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

/* The library's own call. Tools see the calls of the application alone. */
static int pass(const struct pl_call *call)
{
    return call->outer ? pl_call_pmpi(call) : pl_call_next(call);
}

static inline void count(const struct pl_option *option, const struct pl_call *call)
{
    struct pl_function_state *state = &pl_state.functions[call->function];
    const bool shared = pl_state.threads;
    pl_count(shared, &option->rule->replaced, 1);
    if (option->stands_in)
        pl_count(shared, &option->rule->nearest, 1);
    pl_count(shared, &state->replaced, 1);
    pl_count(shared, &state->bytes, call->volume);
}

/* A variant that was left once is left for good: all ranks know. */
static PL_NOT_INLINE int leave(struct pl_option *option, const struct pl_call *call)
{
    option->left = option->special = true;
    option->plain = 0;
    pl_count(pl_state.threads, &pl_state.functions[call->function].crowded, 1);
    return pass(call);
}

/* How deep an inner call is that may be replaced; 0: it may not. A function is replaced inside
 * itself only where it passes less, so that calls cannot go in circles; what all of them keep has
 * one bound. Equal on all ranks. */
static int depth_of(const struct pl_call *call, const struct pl_verdict *way)
{
    size_t room = pl_state.profile.memory;
    int depth = 0;
    for (const struct pl_call *outer = call->outer; outer; outer = outer->outer) {
        if (outer->function == call->function && way->bytes >= pl_volume(outer))
            return 0;
        room -= outer->scratch;
        depth++;
    }
    return depth < PL_DEPTH && way->scratch <= room ? depth : 0;
}

/* A call inside a replacement. It uses other blocks than those around it; their messages do not
 * meet, though all are on one private communicator: a variant has received its own when it makes
 * an inner call. */
static PL_NOT_INLINE int run_inner(struct pl_option *option, struct pl_call *call,
                                   const struct pl_comm_state *comm_state, bool lasts, int depth)
{
    struct pl_kept *const kept = comm_state->kept;
    struct pl_blocks *const around = kept->levels + depth - 1;
    kept->now = around + 1;
    if (call->scratch > 0)
        pl_scratch_begin(kept, call->scratch);
    const int rc =
        lasts ? option->spec->variant->run(call) : pl_run(option->spec, call, comm_state);
    pl_scratch_leave(kept, around, call->outer->scratch > 0);
    if (rc == PL_LEFT)
        return leave(option, call);
    pl_count(pl_state.threads, &option->rule->inner, 1);
    return rc;
}

/* No predefined datatype that lasts is an empty signature. An error handler of the application may
 * make calls of its own, so that `way` is another one afterwards. */
static inline __attribute__((always_inline)) int run_rule(const struct pl_verdict *way,
                                                          struct pl_call *call,
                                                          const struct pl_comm_state *comm_state,
                                                          bool lasts)
{
    struct pl_option *const option = way->option;
    const struct pl_spec *const spec = option->spec;
    const bool takes_memory = way->scratch > 0;
    const int depth = call->outer ? depth_of(call, way) : 0;
    if (call->outer && depth == 0)
        return pass(call);
    call->values = spec->values;
    call->volume = way->bytes;
    call->scratch = way->scratch;
    call->kept = comm_state->kept;
    if (call->outer)
        return run_inner(option, call, comm_state, lasts, depth);
    call->kept->now = call->kept->levels;
    if (takes_memory)
        pl_scratch_begin(call->kept, way->scratch);
    const int rc = lasts ? spec->variant->run(call) : pl_run(spec, call, comm_state);
    if (takes_memory)
        pl_scratch_end(call->kept);
    if (rc == PL_LEFT)
        return leave(option, call);
    count(option, call);
    return rc;
}

/* Some calls of the application go to the library for comparison, or all where the rule is slower;
 * calls inside a replacement only in the second case. */
static PL_NOT_INLINE int run_special(const struct pl_verdict *way, struct pl_call *call,
                                     struct pl_comm_state *comm_state, bool lasts)
{
    struct pl_option *const option = way->option;
    struct pl_control *const control = option->control;
    if (option->left)
        return leave(option, call);
    if (call->outer)
        return control->off ? pass(call) : run_rule(way, call, comm_state, lasts);
    const long long bytes = way->bytes;
    const enum pl_side side = pl_control_next(call->comm, comm_state, option);
    if (side == PL_OFF)
        return pass(call);
    const bool timed = pl_control_times(control);
    const int64_t start = timed ? pl_calls_now() : 0;
    const int rc = side == PL_LIBRARY ? pass(call) : run_rule(way, call, comm_state, lasts);
    if (timed && rc == MPI_SUCCESS)
        pl_control_took(option, bytes, pl_calls_now() - start);
    return rc;
}

static inline bool is_plain(struct pl_option *option, const struct pl_call *call)
{
    if (!option->special)
        return true;
    if (option->plain == 0 || call->outer)
        return false;
    option->plain--;
    return true;
}

static inline __attribute__((always_inline)) int run(const struct pl_verdict *way,
                                                     struct pl_call *call,
                                                     struct pl_comm_state *comm_state, bool lasts)
{
    return is_plain(way->option, call) ? run_rule(way, call, comm_state, lasts)
                                       : run_special(way, call, comm_state, lasts);
}

/* A buffer at no address, in place, or neither. */
static unsigned place_of(const void *buf)
{
    return (buf == MPI_BOTTOM ? 1u : 0u) | (buf == MPI_IN_PLACE ? 2u : 0u);
}

/* Whether other buffers than the last ones change nothing in a decision. */
static PL_NOT_INLINE bool alike(struct pl_decision *decision, const struct pl_call *call)
{
    const struct pl_call *last = &decision->call;
    const uintptr_t distance = (uintptr_t)call->recvbuf - (uintptr_t)call->sendbuf;
    if (decision->under_way > 0 || place_of(last->sendbuf) != place_of(call->sendbuf) ||
        place_of(last->recvbuf) != place_of(call->recvbuf) || distance == decision->clash)
        return false;
    decision->call.sendbuf = call->sendbuf;
    decision->call.recvbuf = call->recvbuf;
    return true;
}

static bool same_table(const struct pl_table *last, const int *counts, const int *displs,
                       const struct pl_comm_state *comm_state)
{
    struct pl_table now;
    return !last->counts ||
           (pl_add_up(counts, displs, comm_state, &now) && now.sum == last->sum &&
            now.spread == last->spread && now.own == last->own && now.first == last->first);
}

static PL_NOT_INLINE bool same_tables(const struct pl_decision *last, const struct pl_call *call,
                                      const struct pl_comm_state *comm_state)
{
    const bool reduces = call->function == PL_FN_reduce_scatter;
    return same_table(&last->out, call->sendcounts, call->sdispls, comm_state) &&
           same_table(&last->in, call->recvcounts, reduces ? call->recvcounts : call->rdispls,
                      comm_state);
}

static inline __attribute__((always_inline)) bool is_for(struct pl_decision *decision,
                                                         const struct pl_call *call,
                                                         const struct pl_comm_state *comm_state)
{
    const struct pl_call *last = &decision->call;
    const bool same_buffers = last->sendbuf == call->sendbuf && last->recvbuf == call->recvbuf;
    return last->recvcount == call->recvcount && last->sendcount == call->sendcount &&
           last->recvtype == call->recvtype && last->sendtype == call->sendtype &&
           last->op == call->op && last->root == call->root &&
           (same_buffers || alike(decision, call)) &&
           (!(PL_HAS_TABLES >> call->function & 1u) || same_tables(decision, call, comm_state));
}

/* Of the functions whose table of counts is significant on all ranks, that of this rank. */
static uint32_t own_count(const struct pl_call *call, const struct pl_comm_state *comm_state)
{
    const unsigned everywhere =
        1 << PL_FN_reduce_scatter | 1 << PL_FN_allgatherv | 1 << PL_FN_alltoallv;
    const int *counts = everywhere >> call->function & 1u ? call->recvcounts : NULL;
    return counts ? (uint32_t)counts[comm_state->rank] : 0;
}

static struct pl_decision *place(const struct pl_choice *choice, const struct pl_call *call,
                                 const struct pl_comm_state *comm_state)
{
    const uint32_t counts =
        (uint32_t)call->recvcount + 3 * (uint32_t)call->sendcount + 7 * own_count(call, comm_state);
    const uint32_t types = (uint32_t)((uintptr_t)call->recvtype >> 4);
    const uint32_t hash = (counts + 5 * types + (uint32_t)call->root) * UINT32_C(0x9e3779b1);
    return &choice->decisions[(hash >> 16 & (PL_DECISIONS - 1)) + (call->outer ? PL_DECISIONS : 0)];
}

/* Where the last call had other arguments. */
static PL_NOT_INLINE int choose(struct pl_call *call, struct pl_comm_state *comm_state)
{
    struct pl_choice *choice = &comm_state->choices[call->function];
    struct pl_decision *decision = place(choice, call, comm_state);
    struct pl_table out = {0}, in = {0};
    struct pl_verdict way = {NULL, 0, 0};
    const bool tables = PL_HAS_TABLES >> call->function & 1u;
    const bool known = decision->made && is_for(decision, call, comm_state);
    if (!known) {
        if (tables && !pl_table_of(call, comm_state, &out, &in))
            return pass(call);
        if (!find(comm_state, call, &way) || decision->under_way > 0)
            return way.option ? run(&way, call, comm_state, false) : pass(call);
        *decision =
            (struct pl_decision){.made = true, .call = *call, .out = out, .in = in, .way = way};
        decision->clash = pl_clash(call, comm_state);
    }
    if (!pl_state.recording)
        choice->last[call->outer != NULL] = decision;
    return decision->way.option ? run(&decision->way, call, comm_state, true) : pass(call);
}

static int decide(struct pl_call *call, struct pl_comm_state *comm_state)
{
    if (!comm_state || !comm_state->choices[call->function].known) {
        const int rc = find_comm_state(call, &comm_state);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return comm_state && comm_state->choices[call->function].count > 0 ? choose(call, comm_state)
                                                                       : pass(call);
}

/* The same, counted and timed. Collective in the first call on a communicator. */
static PL_NOT_INLINE int record(struct pl_call *call, struct pl_comm_state *comm_state)
{
    int rc = MPI_SUCCESS;
    if (call->comm == MPI_COMM_NULL)
        return decide(call, comm_state);
    if (!comm_state)
        PL_TRY(pl_comm_state_of(call->comm, call->function, &comm_state));
    PL_TRY(pl_calls_locate(call->comm, comm_state));
    const int64_t start = pl_calls_now();
    rc = decide(call, comm_state);
    pl_calls_count(call, comm_state, start);
out:
    return rc;
}

static PL_NOT_INLINE int begin(struct pl_call *call, struct pl_comm_state *comm_state)
{
    return pl_state.recording && !call->outer ? record(call, comm_state) : decide(call, comm_state);
}

int pl_run_again(struct pl_decision *last, struct pl_comm_state *comm_state)
{
    if (!last->way.option)
        return pass(&last->call);
    last->under_way++;
    const int rc = run(&last->way, &last->call, comm_state, true);
    last->under_way--;
    return rc;
}

int pl_run_again_with_tables(struct pl_decision *last, struct pl_comm_state *comm_state)
{
    if (same_tables(last, &last->call, comm_state))
        return pl_run_again(last, comm_state);
    struct pl_call call = last->call;
    return begin(&call, comm_state);
}

int PL_COMPOSE(struct pl_call *call)
{
    return pl_replace(call, pl_last_comm_state(call->comm));
}

int pl_replace(struct pl_call *call, struct pl_comm_state *comm_state)
{
    struct pl_decision *last =
        comm_state ? comm_state->choices[call->function].last[call->outer != NULL] : NULL;
    if (!last || !is_for(last, call, comm_state))
        return begin(call, comm_state);
    return last->way.option ? run(&last->way, call, comm_state, true) : pass(call);
}
