/* The counters as software-defined events of PAPI: sde:::plumbline::MPI_Bcast.calls, .bytes,
 * .replaced, .fallen_through. Like hardware counters they start at zero with PAPI_start. Libraries
 * are found by name and only in a process that has PAPI, so that none is needed. */
#include "preload.h"

#ifdef PL_PAPI
#include <dlfcn.h>
#include <sde_lib.h>
#include <stdio.h>

static long long fallen_through(void *state_)
{
    struct pl_function_state *state = state_;
    return atomic_load(&state->calls) - atomic_load(&state->replaced);
}

static struct {
    __typeof__(papi_sde_init) *init;
    __typeof__(papi_sde_register_counter) *counter;
    __typeof__(papi_sde_register_counter_cb) *callback;
} sde;

static bool find_sde(void)
{
    void *library = dlsym(RTLD_DEFAULT, "PAPI_library_init")
                        ? dlopen("libsde.so.1", RTLD_LAZY | RTLD_GLOBAL)
                        : NULL;
    if (!library)
        return false;
    sde.init = (__typeof__(sde.init))dlsym(library, "papi_sde_init");
    sde.counter = (__typeof__(sde.counter))dlsym(library, "papi_sde_register_counter");
    sde.callback = (__typeof__(sde.callback))dlsym(library, "papi_sde_register_counter_cb");
    return sde.init && sde.counter && sde.callback;
}

void pl_register_events(void)
{
    if (!find_sde())
        return;
    papi_handle_t handle = sde.init("plumbline");
    for (int f = 0; handle && f < PL_FUNCTION_COUNT; f++) {
        if (f == PL_FN_reduce_local) /* not wrapped */
            continue;
        struct pl_function_state *state = &pl_state.functions[f];
        const struct {
            const char *name;
            atomic_llong *value;
        } counters[] = {
            {"calls", &state->calls}, {"bytes", &state->bytes}, {"replaced", &state->replaced}};
        char name[64];
        for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
            snprintf(name, sizeof name, "%s.%s", pl_function_name((enum pl_function)f),
                     counters[i].name);
            sde.counter(handle, name, PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long,
                        counters[i].value);
        }
        snprintf(name, sizeof name, "%s.fallen_through", pl_function_name((enum pl_function)f));
        sde.callback(handle, name, PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, fallen_through,
                     state);
    }
}
#else
void pl_register_events(void) {}
#endif
