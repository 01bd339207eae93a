/* The counters as software-defined events of PAPI: sde:::plumbline::MPI_Bcast.calls, .bytes,
 * .replaced, .fallen_through, .crowded. Like hardware counters they start at zero with PAPI_start.
 * Libraries are found by name and only in a process that has PAPI, so that none is needed. */
#include "preload.h"

#if defined PL_PAPI && __has_include(<sde_lib.h>)
#include <dlfcn.h>
#include <sde_lib.h>
#include <stdio.h>

static long long fallen_through(void *state_)
{
    struct pl_function_state *state = state_;
    return atomic_load(&state->calls) - atomic_load(&state->replaced);
}

struct sde {
    __typeof__(papi_sde_init) *init;
    __typeof__(papi_sde_register_counter) *counter;
    __typeof__(papi_sde_register_counter_cb) *callback;
};

static bool find_sde(struct sde *sde)
{
    void *library = dlsym(RTLD_DEFAULT, "PAPI_library_init")
                        ? dlopen("libsde.so.1", RTLD_LAZY | RTLD_GLOBAL)
                        : NULL;
    if (!library)
        return false;
    sde->init = (__typeof__(sde->init))dlsym(library, "papi_sde_init");
    sde->counter = (__typeof__(sde->counter))dlsym(library, "papi_sde_register_counter");
    sde->callback = (__typeof__(sde->callback))dlsym(library, "papi_sde_register_counter_cb");
    return sde->init && sde->counter && sde->callback;
}

static void register_function(const struct sde *sde, papi_handle_t handle, enum pl_function f)
{
    struct pl_function_state *state = &pl_state.functions[f];
    const int mode = PAPI_SDE_RO | PAPI_SDE_DELTA;
    char name[64];
    const struct {
        const char *name;
        atomic_llong *value;
    } counters[] = {{"calls", &state->calls},
                    {"bytes", &state->bytes},
                    {"replaced", &state->replaced},
                    {"crowded", &state->crowded}};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        if (counters[i].value == &state->bytes && !pl_has_volume(f))
            continue;
        snprintf(name, sizeof name, "%s.%s", pl_function_name(f), counters[i].name);
        sde->counter(handle, name, mode, PAPI_SDE_long_long, counters[i].value);
    }
    snprintf(name, sizeof name, "%s.fallen_through", pl_function_name(f));
    sde->callback(handle, name, mode, PAPI_SDE_long_long, fallen_through, state);
}

/* When the library is loaded: PAPI looks for other libraries once, perhaps before MPI_Init. */
__attribute__((constructor)) static void register_events(void)
{
    struct sde sde;
    papi_handle_t handle = find_sde(&sde) ? sde.init("plumbline") : NULL;
    for (int f = 0; handle && f < PL_FUNCTION_COUNT; f++)
        if (f != PL_FN_reduce_local) /* not wrapped */
            register_function(&sde, handle, (enum pl_function)f);
}
#endif
