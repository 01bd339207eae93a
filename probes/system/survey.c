#include "system/survey.h"

#include "measure/run.h"
#include "system/cvar.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Name and value of each variable that can be read, from *at on, which stands behind the one that
 * is being read. */
static void read_on(int *at, int count)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    static struct pl_cvar cvar;
    static struct pl_cvar_value value;
    static char text[PL_CVAR_NAME + PL_CVAR_TEXT];
    const struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL); /* no backtrace of the library's on standard error */
    while (*at < count) {
        if (!pl_cvar_info((*at)++, &cvar) || pl_cvar_read(&cvar, &value) != MPI_SUCCESS)
            continue;
        char *second = stpcpy(text, cvar.name) + 1;
        pl_cvar_format(&cvar, &value, second, PL_CVAR_TEXT);
        const ssize_t length = second + strlen(second) + 1 - text;
        if (write(STDOUT_FILENO, text, (size_t)length) != length)
            _exit(PL_EXIT_FAILED);
    }
    _exit(PL_EXIT_FINE);
}

int pl_variables(void)
{
    pl_cvar_start();
    const int count = pl_cvar_count();
    int *at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool good = at != MAP_FAILED;
    while (good && *at < count) {
        int status = 0;
        const pid_t pid = fork();
        if (pid == 0)
            read_on(at, count);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        good = pid > 0 && (WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    }
    pl_cvar_stop();
    return good ? PL_EXIT_FINE : PL_EXIT_FAILED;
}

/* 0: no process. */
static pid_t spawn(int out)
{
    char program[] = "probe", command[] = "variables";
    char *const words[] = {program, command, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return 0;
    const bool good = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
                      posix_spawn(&pid, "/proc/self/exe", &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return good ? pid : 0;
}

bool pl_survey_open(struct pl_survey *survey)
{
    enum { NO_CHARACTER = 0xff };
    int ends[2], status = -1;
    *survey = (struct pl_survey){0};
    if (pl_cvar_count() == 0) /* nobody to ask */
        return true;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const pid_t pid = spawn(ends[1]);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    size_t room = 0;
    const ssize_t length = in ? getdelim(&survey->text, &room, NO_CHARACTER, in) : -1;
    survey->size = length > 0 ? (size_t)length : 0;
    if (in)
        fclose(in);
    else
        close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!in || status != 0)
        survey->size = 0;
    return in && status == 0;
}

/* Most are asked for in the order in which they came. */
const char *pl_survey_value(struct pl_survey *survey, const char *name)
{
    for (size_t seen = 0, at = survey->next; seen < survey->size; at = survey->next) {
        if (at >= survey->size)
            at = 0;
        const char *key = survey->text + at, *value = key + strlen(key) + 1;
        survey->next = (size_t)(value + strlen(value) + 1 - survey->text);
        seen += survey->next - at;
        if (strcmp(key, name) == 0)
            return value;
    }
    return NULL;
}

void pl_survey_close(struct pl_survey *survey)
{
    free(survey->text);
    *survey = (struct pl_survey){0};
}
