/* loops: what a benchmark program sees of a collective call.
 *
 *     mpirun -np 4 loops MPI_Allreduce:1024:MPI_DOUBLE MPI_Gatherv:4096:last --loop osu
 *
 * Calls the library as any application does, so that rules files and preload libraries in force
 * count, in the loops of the common benchmark programs (time.c says which loop is whose; no code of
 * theirs is here). All cases in all loops, in one random order; one line of JSON for each:
 *
 *     {"case":"MPI_Gather:4096","moved":4096,"loop":"osu","us":3.1,"min_us":2.0,"max_us":4.2,
 *      "iterations":100,"why":""}
 *
 * `us` is what the loop reports; where it is null, `why` says why. The first line says what library
 * it is, and with how many ranks. */
#include "loops/loops.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct pl_loop_plan plan;
    bool loops[16]; /* by place in pl_loops */
    uint64_t seed;
    int root;
    bool help;
    const char *out;
};

static const struct option table[] = {
    {"loop", required_argument, NULL, 'l'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'w'},
    {"seed", required_argument, NULL, 's'},
    {"root", required_argument, NULL, 'r'},
    {"out", required_argument, NULL, 'o'},
    {"budget-ms", required_argument, NULL, 'b'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static void help(void)
{
    printf("Usage: mpirun -np N loops FUNCTION:BYTES[:TYPE[:OP]][:COUNTS]... [options]\n"
           "  --loop NAME       one of the loops below; may be repeated (default: all)\n"
           "  --iterations N    timed calls of each case in each loop (default 100)\n"
           "  --budget-ms N     at most so long, but ten of them at least (default: no limit)\n"
           "  --warmup N        untimed calls before them (default 10)\n"
           "  --seed N          of the order (default 1)\n"
           "  --root N          of rooted functions (default 0)\n"
           "  --out FILE        in place of standard output\n"
           "Loops:\n");
    for (int i = 0; i < pl_loop_count; i++)
        printf("  %-13s %s\n", pl_loops[i].name, pl_loops[i].summary);
    pl_loop_names();
}

static bool whole(const char *text, long long least, long long most, long long *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *text && !*end && !errno && *value >= least && *value <= most;
}

static bool set_loop(struct options *options, const char *name)
{
    for (int i = 0; i < pl_loop_count; i++)
        if (strcmp(pl_loops[i].name, name) == 0)
            return options->loops[i] = true;
    return false;
}

/* NULL, or what is wrong with the options. */
static const char *read_options(int argc, char **argv, int nprocs, struct options *options)
{
    int letter;
    bool named = false;
    long long value = 0;

    *options = (struct options){.plan = {.iterations = 100, .warmup = 10}, .seed = 1};
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        bool good = true;
        switch (letter) {
        case 'l':
            good = named = set_loop(options, optarg);
            break;
        case 'i':
            good = whole(optarg, 1, 10000000, &value);
            options->plan.iterations = (int)value;
            break;
        case 'w':
            good = whole(optarg, 0, 10000000, &value);
            options->plan.warmup = (int)value;
            break;
        case 'b':
            good = whole(optarg, 0, 10000000, &value);
            options->plan.budget = (double)value / 1e3;
            break;
        case 's':
            good = whole(optarg, 0, INT64_MAX, &value);
            options->seed = (uint64_t)value;
            break;
        case 'r':
            good = whole(optarg, 0, nprocs - 1, &value);
            options->root = (int)value;
            break;
        case 'o':
            options->out = optarg;
            break;
        case 'h':
            options->help = true;
            break;
        default:
            return "no such option, or its value is missing (--help lists them)";
        }
        if (!good)
            return "the value of an option is not one that it takes (--help says which)";
    }
    for (int i = 0; !named && i < pl_loop_count; i++)
        options->loops[i] = true;
    return optind < argc || options->help ? NULL : "name a case: FUNCTION:BYTES[:TYPE[:OP]]";
}

/* splitmix64 (Steele, Lea, Flood 2014): the same order on all ranks. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(int *order, int count, uint64_t seed)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(next(&seed) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static void print_header(FILE *out, int nprocs)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length; /* some libraries count the end of the string */
    MPI_Get_library_version(version, &length);
    for (int i = 0; version[i]; i++)
        if (version[i] == '"' || version[i] == '\\' || (unsigned char)version[i] < ' ')
            version[i] = ' ';
    fprintf(out, "{\"program\":\"loops %s\",\"library\":\"%s\",\"nprocs\":%d}\n", PL_VERSION,
            version, nprocs);
}

static void print_times(FILE *out, const struct pl_loop_case *c, const char *loop,
                        const struct pl_loop_times *times)
{
    fprintf(out, "{\"case\":\"%s\",\"moved\":%lld,\"loop\":\"%s\",", c->text, c->moved, loop);
    if (times->why)
        fprintf(out, "\"us\":null,\"min_us\":null,\"max_us\":null,");
    else
        fprintf(out, "\"us\":%.6f,\"min_us\":%.6f,\"max_us\":%.6f,", 1e6 * times->value,
                1e6 * times->least, 1e6 * times->most);
    fprintf(out, "\"iterations\":%d,\"why\":\"%s\"}\n", times->iterations,
            times->why ? times->why : "");
}

/* `out` is NULL on all ranks but 0. False: no memory. */
static bool run(const struct options *options, const struct pl_loop_case *cases, int count,
                FILE *out)
{
    struct pl_loop_call call;
    int *order = calloc((size_t)count * (size_t)pl_loop_count, sizeof *order);
    bool good = pl_loop_buffers(cases, count, &call) && order;

    call.root = options->root;
    if (good)
        shuffle(order, count * pl_loop_count, options->seed);
    for (int i = 0; good && i < count * pl_loop_count; i++) {
        const struct pl_loop_case *c = &cases[order[i] / pl_loop_count];
        const int loop = order[i] % pl_loop_count;
        if (!options->loops[loop])
            continue;
        pl_loop_prepare(c, &call);
        struct pl_loop_times times = pl_loops[loop].run(&options->plan, c, &call);
        if (out)
            print_times(out, c, pl_loops[loop].name, &times);
    }
    pl_loop_free(&call);
    free(order);
    return good;
}

/* Status of the program; what is wrong, rank 0 says. */
static int start(int argc, char **argv, int rank, int nprocs)
{
    struct options options = {.help = false};
    struct pl_loop_case *cases = calloc((size_t)argc, sizeof *cases);
    const char *about = "", *wrong = cases ? NULL : "no memory";
    FILE *out = NULL;
    int count = 0, status = 2;

    if (!wrong)
        wrong = read_options(argc, argv, nprocs, &options);
    for (; !wrong && !options.help && optind + count < argc; count++) {
        about = argv[optind + count];
        wrong = pl_loop_parse(about, nprocs, &cases[count]);
    }
    if (!wrong && options.help) {
        if (rank == 0)
            help();
        status = 0;
    } else if (!wrong) {
        int opened = 1;
        if (rank == 0)
            opened = (out = options.out ? fopen(options.out, "w") : stdout) != NULL;
        MPI_Bcast(&opened, 1, MPI_INT, 0, MPI_COMM_WORLD);
        about = options.out && !opened ? options.out : "";
        wrong = opened ? NULL : "cannot be written";
        if (out)
            print_header(out, nprocs);
        if (!wrong && !run(&options, cases, count, out))
            wrong = "no memory";
        if (out && fflush(out) != 0)
            wrong = "the output cannot be written";
        status = wrong ? 1 : 0;
    }
    if (wrong && rank == 0)
        fprintf(stderr, "loops: %s%s%s\n", about, *about ? ": " : "", wrong);
    if (out && out != stdout)
        fclose(out);
    free(cases);
    return status;
}

int main(int argc, char **argv)
{
    int rank, nprocs;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    int status = start(argc, argv, rank, nprocs);
    MPI_Finalize();
    return status;
}
