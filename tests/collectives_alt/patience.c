#include "patience.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t was_stopped;
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
    was_stopped = 0;
    alarm(seconds);
}

bool patience_renewed(void)
{
    const bool renewed = was_stopped;
    if (renewed)
        patience(given);
    return renewed;
}
