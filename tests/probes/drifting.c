/* The raw monotonic clock of one host runs at another rate: PLUMBLINE_TEST_DRIFT=HOST:PPM. All
 * processes of the host read the same clock. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double parts_per_million(void)
{
    char host[256] = "";
    const char *asked = getenv("PLUMBLINE_TEST_DRIFT");
    const char *colon = asked ? strrchr(asked, ':') : NULL;
    gethostname(host, sizeof host - 1);
    if (!colon || strlen(host) != (size_t)(colon - asked) ||
        strncmp(host, asked, strlen(host)) != 0)
        return 0;
    return atof(colon + 1);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    static double drift = -1;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    if (drift < 0)
        drift = parts_per_million() * 1e-6;
    int error = real(clock, time);
    if (error || clock != CLOCK_MONOTONIC_RAW || drift == 0)
        return error;
    long long ns = time->tv_sec * 1000000000LL + time->tv_nsec;
    ns += (long long)((double)ns * drift);
    time->tv_sec = ns / 1000000000LL;
    time->tv_nsec = ns % 1000000000LL;
    return 0;
}
