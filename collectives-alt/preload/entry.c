/* The MPI functions that a C application calls. Where no rule can match, a call costs two look-ups
 * and a counter more than the library's own. */
#include "next.h"
#include "preload.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int MPI_Init(int *argc, char ***argv)
{
    const int rc = pl_next.Init(argc, argv);
    if (rc == MPI_SUCCESS)
        pl_load(true);
    return rc;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int rc = pl_next.Init_thread(argc, argv, required, provided);
    if (rc == MPI_SUCCESS)
        pl_load(true);
    return rc;
}

EXPORT int MPI_Finalize(void)
{
    pl_load(false);
    pl_write_report();
    pl_calls_close(true);
    return pl_next.Finalize();
}

/* What has ranks of several jobs was made by this, or of what this has made. */
EXPORT int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    atomic_store_explicit(&pl_state.merged, true, memory_order_relaxed);
    return pl_next.Intercomm_merge(intercomm, high, newintracomm);
}

#define PL_RUN_AGAIN(function)                                                                     \
    (PL_HAS_TABLES >> (function)&1u ? pl_run_again_with_tables : pl_run_again)

/* MPI_Name, which goes to the library at once where no rule can match. A call that repeats the last
 * one is that call of before: no other is made of its arguments. */
#define ENTRY(symbol, Name, SHAPE)                                                                 \
    EXPORT int MPI_##Name PL_P_##SHAPE(int, int, )                                                 \
    {                                                                                              \
        if (!pl_has_rules(PL_FN_##symbol))                                                         \
            return pl_next.Name PL_G_##SHAPE();                                                    \
        struct pl_comm_state *comm_state = pl_last_comm_state(comm);                               \
        if (comm_state) {                                                                          \
            if (comm_state->choices[PL_FN_##symbol].untouched)                                     \
                return pl_next.Name PL_G_##SHAPE();                                                \
            struct pl_decision *last = comm_state->choices[PL_FN_##symbol].last[0];                \
            const struct pl_call *c = last ? &last->call : NULL;                                   \
            if (c && PL_E_##SHAPE)                                                                 \
                return PL_RUN_AGAIN(PL_FN_##symbol)(last, comm_state);                             \
        }                                                                                          \
        struct pl_call call = pl_no_call;                                                          \
        call.function = PL_FN_##symbol;                                                            \
        PL_F_##SHAPE call.comm = comm;                                                             \
        return pl_replace(&call, comm_state);                                                      \
    }

#define PL_COLLECTIVE(symbol, Name, SHAPE) ENTRY(symbol, Name, SHAPE)
#include "collectives.def"
