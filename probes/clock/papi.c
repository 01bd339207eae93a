/* PAPI_get_real_nsec: the wall clock of the PAPI library, to compare with programs that use it. On
 * Linux PAPI reads CLOCK_REALTIME by a system call: ten times the cost of the kernel's other
 * clocks, and the administrator or NTP may set it back. Compiled in where papi.h is found
 * (probes/Makefile). */
#include "clock/clock.h"

#include "system/papi.h"

#include <stddef.h>

#ifdef PL_PAPI

static int64_t now_ns(void)
{
    return pl_papi.get_real_nsec();
}

static bool adopt(const struct pl_calibration *calibration)
{
    (void)calibration;
    return !pl_papi_open() && pl_papi.library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT;
}

#else

static const char *missing(void)
{
    return "this probe was built without PAPI; install libpapi-dev (Debian) or papi-devel and "
           "build again, or use clock=monotonic_raw";
}

#endif

const struct pl_clock pl_clock_papi = {
    .name = "papi",
    .summary = "PAPI_get_real_nsec of the PAPI library",
    .shared = true,
#ifdef PL_PAPI
    .now_ns = now_ns,
    .adopt = adopt,
#else
    .missing = missing,
#endif
};
