/* A library that learns, to be preloaded, in time that does not pass: a broadcast takes LEARNING_NS
 * by the clock that the probe reads, and each further call LEARNING_PERCENT per cent of the last
 * one (without it: as long), up to the call LEARNING_CALLS; those that follow take what they take.
 * The probe's first call of a case is its check. */
#define _GNU_SOURCE
#include <mpi.h>

#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t ahead_ns;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    long rc = syscall(SYS_clock_gettime, clock, time);
    if (rc == 0 && clock == CLOCK_MONOTONIC_RAW) {
        int64_t ns = time->tv_nsec + ahead_ns;
        time->tv_sec += ns / 1000000000;
        time->tv_nsec = ns % 1000000000;
    }
    return (int)rc;
}

static double number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text ? atof(text) : otherwise;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    static int calls;
    static double ns;
    ns = calls++ == 0 ? number("LEARNING_NS", 0) : ns * number("LEARNING_PERCENT", 100) / 100;
    if (calls <= number("LEARNING_CALLS", 1e9))
        ahead_ns += (int64_t)ns;
    return PMPI_Bcast(buffer, count, type, root, comm);
}
