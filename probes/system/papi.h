/* PAPI, where it was there at build time (PL_PAPI) and is there at run time. */
#ifndef PL_PAPI_H
#define PL_PAPI_H

#ifdef PL_PAPI
#include <papi.h>

#define PL_PAPI_FUNCTIONS(X)                                                                       \
    X(library_init)                                                                                \
    X(is_initialized)                                                                              \
    X(strerror)                                                                                    \
    X(get_component_index)                                                                         \
    X(get_component_info)                                                                          \
    X(create_eventset)                                                                             \
    X(add_named_event)                                                                             \
    X(start)                                                                                       \
    X(read)                                                                                        \
    X(stop)                                                                                        \
    X(cleanup_eventset)                                                                            \
    X(destroy_eventset)                                                                            \
    X(get_real_nsec)

#define PL_PAPI_FIELD(name) __typeof__(&PAPI_##name) name;
struct pl_papi {
    PL_PAPI_FUNCTIONS(PL_PAPI_FIELD)
};

/* Filled by pl_papi_open, which returns NULL or why it cannot. */
extern struct pl_papi pl_papi;
const char *pl_papi_open(void);

#endif
#endif
