#include "system/survey.h"

#include "system/cvar.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child sends for each variable, followed by `length` bytes; -1: it cannot be read. */
struct message {
    int index, length;
};

static void child(int first, int count, int out)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    static struct pl_cvar cvar;
    static struct pl_cvar_value value;
    static char text[PL_CVAR_TEXT];
    struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL); /* no backtrace of the library's on standard error */
    for (int i = first; i < count; i++) {
        struct message message = {i, -1};
        if (pl_cvar_info(i, &cvar) && pl_cvar_read(&cvar, &value) == MPI_SUCCESS) {
            pl_cvar_format(&cvar, &value, text, sizeof text);
            message.length = (int)strlen(text);
        }
        if (write(out, &message, sizeof message) != (ssize_t)sizeof message ||
            (message.length > 0 && write(out, text, (size_t)message.length) != message.length))
            _exit(1);
    }
    _exit(0);
}

/* Reads what one child sends; returns the index behind the last variable it got through, -1 when
 * memory is short. */
static int collect(FILE *in, char **values, int first)
{
    struct message message;
    int next = first;
    while (fread(&message, sizeof message, 1, in) == 1) {
        next = message.index + 1;
        if (message.length < 0)
            continue;
        char *text = calloc((size_t)message.length + 1, 1);
        if (!text)
            return -1;
        if (fread(text, 1, (size_t)message.length, in) != (size_t)message.length) {
            free(text);
            return message.index;
        }
        values[message.index] = text;
    }
    return next;
}

static bool survey(char **values, int first, int count)
{
    for (int next = first; next >= 0 && next < count;) {
        int ends[2];
        if (pipe(ends) != 0)
            return false;
        pid_t pid = fork();
        if (pid == 0) {
            close(ends[0]);
            child(next, count, ends[1]);
        }
        close(ends[1]);
        FILE *in = pid > 0 ? fdopen(ends[0], "r") : NULL;
        if (in) {
            next = collect(in, values, next);
            fclose(in);
        } else {
            close(ends[0]);
        }
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (!in || next < 0)
            return false;
        next++; /* the one at which the child died, or the end */
    }
    return true;
}

bool pl_survey(char **values, int count)
{
    memset(values, 0, (size_t)count * sizeof *values);
    return survey(values, 0, count);
}

char *pl_survey_one(int index)
{
    char **values = calloc((size_t)index + 1, sizeof *values);
    char *found = NULL;
    if (values && survey(values, index, index + 1))
        found = values[index];
    free(values);
    return found;
}
