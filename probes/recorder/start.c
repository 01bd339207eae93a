/* Start and end of a recording: rank 0 says where it goes and how large it may become, and all
 * ranks record or none. */
#include "recorder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_BYTES = 1 << 16 };

static MPI_Comm own = MPI_COMM_NULL; /* of messages that the application cannot meet */

struct wish {
    int64_t job, limit;
    char folder[PATH_MAX];
};

static void ask(struct wish *wish)
{
    struct timespec at;
    const char *folder = getenv("PLUMBLINE_RECORD"), *limit = getenv("PLUMBLINE_RECORD_BYTES");
    if (!folder || strlen(folder) >= sizeof wish->folder)
        return;
    strcpy(wish->folder, folder);
    clock_gettime(CLOCK_REALTIME, &at);
    wish->job = at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
    wish->limit = limit ? strtoll(limit, NULL, 10) : INT64_C(256) << 20;
    if (wish->limit < LEAST_BYTES)
        wish->limit = LEAST_BYTES;
}

static bool spawned(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
}

static void begin(void)
{
    int rank, level, all;
    struct wish wish = {0};
    if (spawned())
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Query_thread(&level);
    if (rank == 0)
        ask(&wish);
    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    PMPI_Bcast(&wish, sizeof wish, MPI_BYTE, 0, own);
    int opened = wish.folder[0] && pl_open(wish.folder, wish.limit, wish.job);
    PMPI_Allreduce(&opened, &all, 1, MPI_INT, MPI_LAND, own);
    if (!all) {
        pl_book.header = NULL;
        return;
    }
    pl_book.threads = level == MPI_THREAD_MULTIPLE;
    pl_sites_begin();
    pl_types_begin();
    pl_communicators_begin();
    pl_compare_clocks(own, &pl_book.header->at_begin);
}

static void finish(void)
{
    if (pl_recording()) {
        pl_compare_clocks(own, &pl_book.header->at_end);
        pl_close();
    }
    if (own != MPI_COMM_NULL)
        PMPI_Comm_free(&own);
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
    const int rc = PMPI_Init(argc, argv);
    if (rc == MPI_SUCCESS)
        begin();
    return rc;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int rc = PMPI_Init_thread(argc, argv, required, provided);
    if (rc == MPI_SUCCESS)
        begin();
    return rc;
}

EXPORT int MPI_Finalize(void)
{
    finish();
    return PMPI_Finalize();
}
