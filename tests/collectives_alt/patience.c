#include "patience.h"

#include <signal.h>
#include <unistd.h>

enum { GRACE_SECONDS = 1 };

static volatile sig_atomic_t was_stopped, in_grace;
static unsigned given;

static void note_stop(int number)
{
    (void)number;
    was_stopped = 1;
}

void patience(unsigned seconds)
{
    signal(SIGCONT, note_stop);
    given = seconds;
    was_stopped = in_grace = 0;
    alarm(seconds);
}

/* SIGCONT may reach another thread, a little later than SIGALRM this one. */
bool patience_renewed(void)
{
    if (!was_stopped && in_grace)
        return false;
    if (was_stopped) {
        patience(given);
    } else {
        in_grace = 1;
        alarm(GRACE_SECONDS);
    }
    return true;
}
