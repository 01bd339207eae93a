/* The state that the parts of libplumbline.so share, until the end of MPI. */
#include "inner.h"
#include "preload.h"

struct pl_active_rule pl_unloaded[1], pl_recorded[1];

struct pl_state pl_state = {
    .functions = {[0 ... PL_FUNCTION_COUNT - 1] = {.first = pl_unloaded}},
};

/* MPI_Finalize first frees MPI_COMM_SELF, and of the attributes there the one first that was set
 * last. So callbacks of the application still find all as it was when this one comes; behind it MPI
 * goes, and calls that others make there are the library's. */
static int end(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    pl_ruled = 0;
    for (int f = 0; f < PL_FUNCTION_COUNT; f++)
        atomic_store_explicit(&pl_state.functions[f].first, NULL, memory_order_release);
    pl_accept_no_more();
    pl_kept_forget(MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

void pl_await_end(void)
{
    int key;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &key, NULL);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, &pl_state);
    PMPI_Comm_free_keyval(&key);
}
