/* Reads the counters of the preload library as PAPI events. usage: counters before|after
 * (PAPI is started before or after MPI). Prints on rank 0 "EVENT VALUE" lines, or "skip WHY". */
#include <mpi.h>
#include <papi.h>
#include <stdio.h>
#include <string.h>

enum { EVENTS = 7 };
static const char *const events[EVENTS] = {
    "sde:::plumbline::MPI_Allreduce.calls",    "sde:::plumbline::MPI_Allreduce.bytes",
    "sde:::plumbline::MPI_Allreduce.replaced", "sde:::plumbline::MPI_Allreduce.fallen_through",
    "sde:::plumbline::MPI_Allreduce.crowded",  "sde:::plumbline::MPI_Bcast.calls",
    "sde:::plumbline::MPI_Bcast.replaced",
};

static int fail(const char *what, int code)
{
    printf("skip %s: %s\n", what, PAPI_strerror(code));
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const int first = argc > 1 && strcmp(argv[1], "before") == 0;
    int rank, set = PAPI_NULL, value = 1, sum,
              version = first ? PAPI_library_init(PAPI_VER_CURRENT) : 0;
    long long values[EVENTS] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* before PAPI_start */
    if (!first)
        version = PAPI_library_init(PAPI_VER_CURRENT);
    if (version != PAPI_VER_CURRENT)
        return fail("PAPI_library_init", version);
    if (PAPI_get_component_index("sde") < 0)
        return fail("PAPI was built without its component sde", PAPI_ECMP);
    PAPI_create_eventset(&set);
    for (int i = 0; i < EVENTS; i++) {
        const int rc = PAPI_add_named_event(set, events[i]);
        if (rc != PAPI_OK)
            printf("not ok %s: %s\n", events[i], PAPI_strerror(rc));
    }
    PAPI_start(set);
    for (int i = 0; i < 5; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(MPI_IN_PLACE, values, EVENTS, MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    PAPI_stop(set, values);
    for (int i = 0; rank == 0 && i < EVENTS; i++)
        printf("%s %lld\n", strrchr(events[i], ':') + 1, values[i]);
    MPI_Finalize();
    return 0;
}
