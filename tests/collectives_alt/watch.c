#include "watch.h"

#include "patience.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { SECONDS = 60 };

static const struct subject *current;
static const struct setting *setting_now;

const char *case_text(char *text, size_t size, const struct subject *subject,
                      const struct setting *s, const char *what)
{
    char name[200];
    int rank, p;
    MPI_Comm_rank(s->comm, &rank);
    MPI_Comm_size(s->comm, &p);
    snprintf(text, size,
             "%s: %s on rank %d of %d (%s) count=%d layout=%s op=%s root=%d in_place=%d",
             subject_text(name, sizeof name, subject), what, rank, p, s->comm_name, s->count,
             s->layout == MIXED ? "mixed" : layouts[s->layout].name,
             s->operation ? s->operation->name : "none", s->root, s->in_place);
    return text;
}

/* The program is lost; nothing here takes a lock of the heap. */
static void tell(int number)
{
    char text[400], line[410];
    if (number == SIGALRM && patience_renewed())
        return;
    signal(number, SIG_DFL);
    case_text(text, sizeof text, current, setting_now, number == SIGALRM ? "hangs" : "crashes");
    const int length = snprintf(line, sizeof line, "not ok %s\n", text);
    if (write(STDERR_FILENO, line, (size_t)length) == length)
        raise(number);
    _exit(1);
}

void watch(const struct subject *subject, const struct setting *s)
{
    static bool prepared;
    current = subject;
    setting_now = s;
    if (!prepared) {
        prepared = true;
        signal(SIGALRM, tell);
#ifndef __SANITIZE_ADDRESS__ /* which has a report of its own */
        signal(SIGSEGV, tell);
        signal(SIGBUS, tell);
        signal(SIGFPE, tell);
        signal(SIGABRT, tell);
#endif
    }
    patience(SECONDS);
}

void watch_end(void)
{
    alarm(0);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    signal(SIGFPE, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
}
