/* The probe itself: how it was built, what it stands on, what it can count. */
#include "system/factors.h"
#include "system/papi.h"
#include "system/topology.h"

#include <gnu/libc-version.h>
#include <string.h>

void pl_factor_compiler(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
#ifdef __clang__
    snprintf(reading->value, sizeof reading->value, "%s", __VERSION__);
#elif defined(__INTEL_COMPILER) || defined(__NVCOMPILER)
    snprintf(reading->value, sizeof reading->value, "%s", __VERSION__);
#else
    snprintf(reading->value, sizeof reading->value, "gcc %s", __VERSION__);
#endif
}

void pl_factor_compiler_flags(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
    snprintf(reading->value, sizeof reading->value, "%s",
             *PL_BUILD_FLAGS ? PL_BUILD_FLAGS : "none");
}

void pl_factor_libc(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
    snprintf(reading->value, sizeof reading->value, "glibc %s", gnu_get_libc_version());
}

void pl_factor_hwloc(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
    pl_topology_library(reading->value, sizeof reading->value, reading->missing,
                        sizeof reading->missing);
}

void pl_factor_papi(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
#ifdef PL_PAPI
    snprintf(reading->value, sizeof reading->value, "%d.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
             PAPI_VERSION_MINOR(PAPI_VERSION), PAPI_VERSION_REVISION(PAPI_VERSION));
#else
    snprintf(reading->missing, sizeof reading->missing,
             "the probe was built without PAPI (install its development package and build again)");
#endif
}

void pl_factor_hardware_counters(const struct pl_factor_context *context,
                                 struct pl_reading *reading)
{
    pl_counters_hardware(context->counters, reading->value, sizeof reading->value, reading->missing,
                         sizeof reading->missing);
}

void pl_factor_migration_counter(const struct pl_factor_context *context,
                                 struct pl_reading *reading)
{
    pl_counters_migrations(context->counters, reading->value, sizeof reading->value,
                           reading->missing, sizeof reading->missing);
}
