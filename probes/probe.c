/* The probe: what runs under mpirun. Options and sub-commands, nothing else. */
#include "list.h"
#include "measure/run.h"
#include "system/report.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_PLAN = 256, OPTION_OUT, OPTION_LIST, OPTION_CHECK_PLAN, OPTION_HELP, OPTION_VERSION };

struct entry {
    struct option option;
    const char *argument, *help;
};

static const struct entry options[] = {
    {{"plan", required_argument, NULL, OPTION_PLAN}, "FILE", "measure what a plan says"},
    {{"out", required_argument, NULL, OPTION_OUT}, "FILE", "where the records go (with --plan)"},
    {{"check-plan", required_argument, NULL, OPTION_CHECK_PLAN}, "FILE", "parse a plan only"},
    {{"list", no_argument, NULL, OPTION_LIST}, "", "what this probe knows, as JSON"},
    {{"help", no_argument, NULL, OPTION_HELP}, "", "this text"},
    {{"version", no_argument, NULL, OPTION_VERSION}, "", "the version"},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

static const struct {
    const char *name, *help;
    int (*run)(void);
} commands[] = {
    {"system", "the machine, the library and its control variables, as JSON", pl_system},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void help(void)
{
    printf("usage: mpirun … probe --plan FILE --out FILE\n"
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

int main(int argc, char **argv)
{
    struct option table[OPTION_COUNT + 1] = {0};
    const char *plan = NULL, *out = NULL, *check = NULL;
    int option;

    for (int i = 0; i < OPTION_COUNT; i++)
        table[i] = options[i].option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (option) {
        case OPTION_PLAN:
            plan = optarg;
            break;
        case OPTION_OUT:
            out = optarg;
            break;
        case OPTION_CHECK_PLAN:
            check = optarg;
            break;
        case OPTION_LIST:
            pl_list(stdout);
            return flushed();
        case OPTION_HELP:
            help();
            return flushed();
        case OPTION_VERSION:
            printf("probe %s\n", PL_VERSION);
            return flushed();
        default: /* getopt_long has said what is wrong */
            return usage("unknown or incomplete option", "");
        }
    }
    if (optind < argc)
        return plan || out || check ? usage("options do not go with the command ", argv[optind])
                                    : run_command(argc - optind, argv + optind);
    if (check)
        return plan || out ? usage("--check-plan stands alone", "") : pl_check_plan(check);
    if (!plan || !out)
        return usage("--plan FILE and --out FILE are needed", "");
    return pl_run(plan, out);
}
