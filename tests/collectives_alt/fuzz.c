/* A fuzzer: random calls of MPI_X beside the same calls of PMPI_X. What stands between the two, as
 * libplumbline.so does, must not be felt: the same bytes in the receive buffer, in the gaps of its
 * datatype and in the guards around it; send buffers as they were; the same error class; a
 * program's operators called as they may be; nobody through a barrier before the last one came.
 * Datatypes, counts, roots, operators, places of blocks and communicators are drawn from a seed.
 *
 * Prints a line a function, "ok MPI_Bcast 125", or "not ok", and a line for the first wrong calls
 * of each rank, which names the seed; a call that crashes or hangs is named too. The same seed and
 * the same number of ranks make the same calls; with --from only those from there on.
 *
 * usage: fuzz [--seed S] [--calls N] [--from K] [--function MPI_X] */
#include "calls.h"
#include "cases.h"
#include "patience.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EPOCH = 64, REPORTS = 2, HANGS_SECONDS = 30 };

struct options {
    struct call_choice choice;
    long calls, from;
};

static struct random_call call;
static long made[PL_FUNCTION_COUNT], wrong[PL_FUNCTION_COUNT];

/* --- what ends the program --- */

static void say_and_end(int number)
{
    if (number == SIGALRM && patience_renewed())
        return;
    static const char hangs[] = "not ok hangs: ", crashes[] = "not ok crashes: ";
    const char *what = number == SIGALRM ? hangs : crashes;
    if (write(1, what, strlen(what)) < 0 || write(1, call.text, strlen(call.text)) < 0 ||
        write(1, "\n", 1) < 0)
        _exit(4);
    _exit(3);
}

static void watch_signals(void)
{
    const int numbers[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        signal(numbers[i], say_and_end);
}

/* --- communicators --- */

/* The world, a copy, other orders, halves and thirds, some ranks alone; `color` says which part. */
static MPI_Comm communicator(unsigned long long seed, long epoch, int *color)
{
    int order[CALL_RANKS], p, rank;
    MPI_Comm comm;
    struct draw draw = draw_from(seed, (unsigned long long)epoch, 77);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < p; i++)
        order[i] = i;
    const int kind = draw_below(&draw, 6);
    draw_shuffle(&draw, order, p);
    *color = 0;
    if (kind == 0 || kind == 1) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        return comm;
    }
    const int some = 1 + draw_below(&draw, p);
    if (kind == 3 || kind == 4)
        *color = order[rank] % (kind - 1);
    if (kind == 5)
        *color = order[rank] < some ? 0 : MPI_UNDEFINED;
    MPI_Comm_split(MPI_COMM_WORLD, *color, kind == 2 || kind == 3 ? order[rank] : rank, &comm);
    return comm;
}

/* --- a call --- */

static void report(const char *what)
{
    if (wrong[call.function]++ < REPORTS) {
        printf("not ok %s: %s\n", call.text, what);
        fflush(stdout);
    }
}

static void compare(const struct side *side, const char *expected, const char *found,
                    const char *what)
{
    char text[100];
    size_t at = 0;
    while (at < side->bytes && expected[at] == found[at])
        at++;
    if (at == side->bytes)
        return;
    snprintf(text, sizeof text, "%s: byte %ld of %ld (guards of %d)", what, (long)at - CALL_GUARD,
             (long)side->bytes - 2 * CALL_GUARD, CALL_GUARD);
    report(text);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One rank comes late: nobody may leave before. */
static void check_barrier(long number, MPI_Comm comm)
{
    const struct timespec late = {.tv_nsec = 500000};
    if (call.rank == number / CALL_TURN % call.p)
        nanosleep(&late, NULL);
    double entered = now(), last;
    const int rc = pl_call_mpi(&call.ours);
    const double left = now();
    PMPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, comm);
    if (rc != MPI_SUCCESS || left < last)
        report(rc == MPI_SUCCESS ? "left before the last one came" : "error");
}

static void check(void)
{
    int ours = pl_call_mpi(&call.ours), theirs = MPI_SUCCESS;
    const char *complaint = pl_reduces(call.function) ? operator_complaint() : NULL;
    if (complaint)
        report(complaint);
    theirs = pl_call_pmpi(&call.theirs);
    MPI_Error_class(ours, &ours);
    MPI_Error_class(theirs, &theirs);
    if (ours != theirs)
        report("another error class");
    forget_undefined(&call.ours);
    forget_undefined(&call.theirs);
    compare(&call.side[1], call.side[1].theirs, call.side[1].ours, "another result");
    compare(&call.side[0], call.side[0].before, call.side[0].ours, "send buffer changed");
}

static void group_free(struct call_group *group)
{
    if (group->comm == MPI_COMM_NULL)
        return;
    topology_free(&group->topology);
    MPI_Comm_free(&group->comm);
}

/* Of the communicators of an epoch, the one that this rank is in. */
static void group_make(struct call_group *group, unsigned long long seed, long epoch)
{
    group_free(group);
    group->comm = communicator(seed, epoch, &group->color);
    if (group->comm == MPI_COMM_NULL)
        return;
    const struct draw draw =
        draw_from(seed, (unsigned long long)epoch, 100 + (unsigned)group->color);
    group->topology = topology_draw(draw.state, group->comm);
    MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(group->topology.comm, MPI_ERRORS_RETURN);
}

static void run(const struct options *options)
{
    struct call_group group = {.comm = MPI_COMM_NULL};
    for (long i = options->from, epoch = -1; i < options->calls; i++) {
        if (i / EPOCH != epoch) {
            epoch = i / EPOCH;
            snprintf(call.text, sizeof call.text, "rank %d, before call %ld", call.rank, i);
            group_make(&group, options->choice.seed, epoch);
        }
        if (group.comm == MPI_COMM_NULL)
            continue;
        patience(HANGS_SECONDS);
        random_call_make(&call, &options->choice, i, &group);
        made[call.function]++;
        if (call.function == PL_FN_barrier)
            check_barrier(i, group.comm);
        else
            check();
        random_call_end(&call);
    }
    group_free(&group);
    patience(HANGS_SECONDS);
}

static struct options options_of(int argc, char **argv)
{
    struct options options = {.choice = {1, PL_FUNCTION_COUNT}, .calls = 1000};
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        char *end = NULL;
        if (strcmp(argv[i], "--function") == 0) {
            options.choice.only = pl_function_by_name(value);
            if (options.choice.only < PL_FUNCTION_COUNT &&
                options.choice.only != PL_FN_reduce_local)
                continue;
        }
        const unsigned long long number = strtoull(value, &end, 10);
        if (end == value || *end) {
            fprintf(stderr, "fuzz: what is %s?\n", argv[i]);
            exit(2);
        }
        if (strcmp(argv[i], "--seed") == 0) {
            options.choice.seed = number;
        } else if (strcmp(argv[i], "--calls") == 0) {
            options.calls = (long)number;
        } else if (strcmp(argv[i], "--from") == 0) {
            options.from = (long)number;
        } else {
            fprintf(stderr, "fuzz: unknown option %s\n", argv[i]);
            exit(2);
        }
    }
    return options;
}

int main(int argc, char **argv)
{
    int rank;
    long all[2][PL_FUNCTION_COUNT], failures = 0;
    const struct options options = options_of(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    watch_signals();
    operators_make();
    run(&options);
    operators_free();
    random_call_free(&call);
    PMPI_Allreduce(made, all[0], PL_FUNCTION_COUNT, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    PMPI_Allreduce(wrong, all[1], PL_FUNCTION_COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (long turn = 0; turn < CALL_TURN; turn++) {
        const enum pl_function f = call_turn(turn);
        failures += all[1][f];
        if (rank == 0)
            printf("%s %s %ld\n", all[1][f] ? "not ok" : "ok", pl_function_name(f), all[0][f]);
    }
    MPI_Finalize();
    return failures > 0;
}
