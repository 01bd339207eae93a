/* The probe itself: how it was built, what it stands on, what it can count. */
#include "system/factors.h"
#include "system/papi.h"
#include "system/topology.h"

#include <gnu/libc-version.h>
#include <string.h>

#if defined(__clang__) || defined(__INTEL_COMPILER) || defined(__NVCOMPILER)
PL_VALUE_READER(compiler, "%s", __VERSION__)
#else
PL_VALUE_READER(compiler, "gcc %s", __VERSION__)
#endif
PL_VALUE_READER(compiler_flags, "%s", *PL_BUILD_FLAGS ? PL_BUILD_FLAGS : "none")
PL_VALUE_READER(libc, "glibc %s", gnu_get_libc_version())

PL_READER(hwloc)
{
    pl_topology_library(reading->value, sizeof reading->value, reading->missing,
                        sizeof reading->missing);
}

PL_READER(topology)
{
    pl_topology_synthetic(reading->value, sizeof reading->value, reading->missing,
                          sizeof reading->missing);
}

PL_READER(papi)
{
#ifdef PL_PAPI
    snprintf(reading->value, sizeof reading->value, "%d.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
             PAPI_VERSION_MINOR(PAPI_VERSION), PAPI_VERSION_REVISION(PAPI_VERSION));
#else
    snprintf(reading->missing, sizeof reading->missing,
             "the probe was built without PAPI (install its development package and build again)");
#endif
}

PL_READER(hardware_counters)
{
    pl_counters_hardware(context->counters, reading->value, sizeof reading->value, reading->missing,
                         sizeof reading->missing);
}

PL_READER(migration_counter)
{
    pl_counters_migrations(context->counters, reading->value, sizeof reading->value,
                           reading->missing, sizeof reading->missing);
}
