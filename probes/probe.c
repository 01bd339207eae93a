/* The probe: what runs under mpirun. Options and sub-commands, nothing else. */
#include "measure/run.h"
#include "system/survey.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Indices into the table; those from OPTION_CHECK_PLAN on stand alone. */
enum {
    OPTION_PLAN,
    OPTION_OUT,
    OPTION_CHECK_PLAN,
    OPTION_SERVE,
    OPTION_LIST,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

static const struct entry {
    struct option option;
    const char *argument, *help;
} options[OPTION_COUNT] = {
    [OPTION_PLAN] = {{"plan", required_argument, NULL, 0}, "FILE", "measure what a plan says"},
    [OPTION_OUT] = {{"out", required_argument, NULL, 0},
                    "FILE",
                    "where the records go (with --plan)"},
    [OPTION_CHECK_PLAN] = {{"check-plan", required_argument, NULL, 0}, "FILE", "parse a plan only"},
    [OPTION_SERVE] = {{"serve", no_argument, NULL, 0},
                      "",
                      "measure plans that standard input names"},
    [OPTION_LIST] = {{"list", no_argument, NULL, 0}, "", "what this probe knows, as JSON"},
    [OPTION_HELP] = {{"help", no_argument, NULL, 0}, "", "this text"},
    [OPTION_VERSION] = {{"version", no_argument, NULL, 0}, "", "the version"},
};

static const struct {
    const char *name, *help;
    int (*run)(void);
} commands[] = {
    {"system", "the machine, the library and its control variables, as JSON", pl_system},
    {"variables", "name and value of control variables, without MPI_Init", pl_variables},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void help(void)
{
    printf("usage: mpirun … probe --plan FILE --out FILE\n"
           "       mpirun … probe --serve\n"
           "       mpirun … probe COMMAND\n"
           "       probe --list | --check-plan FILE | --help | --version\n\ncommands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-20s %s\n", commands[i].name, commands[i].help);
    printf("\noptions:\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[32];
        snprintf(left, sizeof left, "--%s %s", options[i].option.name, options[i].argument);
        printf("  %-20s %s\n", left, options[i].help);
    }
    printf(
        "\nplans and records: docs/plan-and-records.md. exit codes: 0 fine, 1 failed, 2 usage.\n");
}

static int usage(const char *why, const char *what)
{
    fprintf(stderr, "probe: %s%s; see probe --help\n", why, what);
    return PL_EXIT_USAGE;
}

static int run_command(int count, char **words)
{
    if (count > 1)
        return usage("one command at a time, not also ", words[1]);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, words[0]) == 0)
            return commands[i].run();
    return usage("no such command: ", words[0]);
}

/* Text for people and pipes: a full disk or a closed pipe is a failure. */
static int flushed(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? PL_EXIT_FINE : PL_EXIT_FAILED;
}

/* getopt_long takes a beginning for the whole name; a name that is cut short is a mistake here. */
static bool spelled_out(char **argv, const struct option *option)
{
    bool apart = option->has_arg == required_argument && optarg == argv[optind - 1];
    const char *given = argv[optind - (apart ? 2 : 1)] + 2;
    size_t length = strlen(option->name);
    return strncmp(given, option->name, length) == 0 && (!given[length] || given[length] == '=');
}

/* Every option is looked at before any is obeyed, so their order means nothing. `values` by index
 * into `options`: NULL where an option is not given, its argument or "" where it is. */
static int read_options(int argc, char **argv, const char *values[OPTION_COUNT])
{
    struct option table[OPTION_COUNT + 1] = {0};
    for (int i = 0; i < OPTION_COUNT; i++)
        table[i] = options[i].option;
    for (int index = 0, option; (option = getopt_long(argc, argv, "", table, &index)) != -1;) {
        if (option == '?') /* getopt_long has said what is wrong */
            return usage("unknown or incomplete option", "");
        if (!spelled_out(argv, &table[index]))
            return usage("write the whole name: --", table[index].name);
        if (values[index])
            return usage("this option stands twice: --", table[index].name);
        values[index] = optarg ? optarg : "";
    }
    return PL_EXIT_FINE;
}

/* SimGrid looks it up by name. */
__attribute__((visibility("default"))) int main(int argc, char **argv)
{
    const char *values[OPTION_COUNT] = {0};
    const char *const *given = values;
    int count = 0, result = read_options(argc, argv, values);

    if (result != PL_EXIT_FINE)
        return result;
    for (int i = 0; i < OPTION_COUNT; i++)
        count += given[i] != NULL;
    if (optind < argc)
        return count ? usage("options do not go with the command ", argv[optind])
                     : run_command(argc - optind, argv + optind);
    if (given[OPTION_PLAN] && given[OPTION_OUT] && count == 2)
        return pl_run(given[OPTION_PLAN], given[OPTION_OUT]);
    for (int i = OPTION_CHECK_PLAN; i < OPTION_COUNT; i++)
        if (given[i] && count > 1) {
            fprintf(stderr, "probe: --%s stands alone; see probe --help\n", options[i].option.name);
            return PL_EXIT_USAGE;
        }
    if (given[OPTION_CHECK_PLAN])
        return pl_check_plan(given[OPTION_CHECK_PLAN]);
    if (given[OPTION_SERVE])
        return pl_serve();
    if (given[OPTION_LIST])
        pl_list(stdout);
    else if (given[OPTION_HELP])
        help();
    else if (given[OPTION_VERSION])
        printf("probe %s\n", PL_VERSION);
    else
        return usage("--plan FILE and --out FILE are needed", "");
    return flushed();
}
