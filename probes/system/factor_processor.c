/* The processors of a host: what they are, how fast they may run, when they sleep. */
#include "system/factors.h"
#include "system/sysfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

static const char cpuinfo[] = "/proc/cpuinfo";
static const char no_frequencies[] =
    "the kernel sets no frequencies here (a virtual machine, or the firmware does)";

void pl_factor_cpu_model(const struct pl_factor_context *context, struct pl_reading *reading)
{
    static const char *const keys[] = {"model name", "cpu", "CPU part"}; /* x86, POWER, ARM */
    int error = ENODATA;
    (void)context;
    for (size_t i = 0; error && i < sizeof keys / sizeof *keys; i++)
        error = pl_sysfile_field(cpuinfo, keys[i], reading->value, sizeof reading->value);
    if (error)
        pl_reading_missing(reading, cpuinfo, error, "");
}

void pl_factor_microcode(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
    int error = pl_sysfile_field(cpuinfo, "microcode", reading->value, sizeof reading->value);
    if (error)
        pl_reading_missing(reading, cpuinfo, error, "no line \"microcode\"");
}

/* Is `word` among the blank-separated words of `text`? */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' '))
            return true;
    return false;
}

void pl_factor_tsc(const struct pl_factor_context *context, struct pl_reading *reading)
{
    static const char *const wanted[] = {"constant_tsc", "nonstop_tsc",    "rdtscp",
                                         "tsc",          "tsc_known_freq", "tsc_reliable"};
    char flags[8192];
    struct pl_words found = {0};
    (void)context;
    int error = pl_sysfile_field(cpuinfo, "flags", flags, sizeof flags);
    if (error) {
        pl_reading_missing(reading, cpuinfo, error, "no line \"flags\"");
        return;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (has_word(flags, wanted[i]))
            pl_words_add(&found, wanted[i]);
    pl_words_join(&found, reading->value, sizeof reading->value);
    if (!found.count)
        snprintf(reading->value, sizeof reading->value, "none");
}

void pl_factor_hypervisor(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
#if defined(__x86_64__) || defined(__i386__)
    unsigned eax, signature[3], ecx;
    if (!__get_cpuid(1, &eax, &signature[0], &ecx, &signature[1]) || !(ecx >> 31 & 1)) {
        snprintf(reading->value, sizeof reading->value, "none");
        return;
    }
    __cpuid(0x40000000, eax, signature[0], signature[1], signature[2]);
    char name[sizeof signature + 1] = {0};
    memcpy(name, signature, sizeof signature);
    snprintf(reading->value, sizeof reading->value, "%s", *name ? name : "without a name");
#else
    pl_reading_line(reading, "/sys/hypervisor/type", "this architecture does not tell otherwise");
#endif
}

void pl_factor_smt(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
    pl_reading_line(reading, "/sys/devices/system/cpu/smt/control", "");
}

static void lines(struct pl_reading *reading, const char *pattern)
{
    int error = pl_sysfile_lines(pattern, reading->value, sizeof reading->value);
    if (error)
        pl_reading_missing(reading, pattern, error, no_frequencies);
}

#define CPUFREQ "/sys/devices/system/cpu/cpufreq/policy*/"

void pl_factor_governor(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
    lines(reading, CPUFREQ "scaling_governor");
}

void pl_factor_frequency_driver(const struct pl_factor_context *context, struct pl_reading *reading)
{
    (void)context;
    lines(reading, CPUFREQ "scaling_driver");
}

void pl_factor_energy_preference(const struct pl_factor_context *context,
                                 struct pl_reading *reading)
{
    (void)context;
    lines(reading, CPUFREQ "energy_performance_preference");
}

void pl_factor_frequency_limits(const struct pl_factor_context *context, struct pl_reading *reading)
{
    struct pl_reading low = {0}, high = {0};
    (void)context;
    lines(&low, CPUFREQ "scaling_min_freq");
    lines(&high, CPUFREQ "scaling_max_freq");
    if (low.missing[0] || high.missing[0])
        *reading = low.missing[0] ? low : high;
    else
        snprintf(reading->value, sizeof reading->value, "from %.200s to %.200s kHz", low.value,
                 high.value);
}

/* The slowest and the fastest processor at this moment, MHz. */
void pl_factor_frequency_now(const struct pl_factor_context *context, struct pl_reading *reading)
{
    double low = 0, high = 0;
    char *line = NULL;
    size_t room = 0;
    (void)context;
    FILE *file = fopen(cpuinfo, "re");
    while (file && getline(&line, &room, file) > 0) {
        double here;
        if (sscanf(line, "cpu MHz : %lf", &here) != 1)
            continue;
        low = low == 0 || here < low ? here : low;
        high = here > high ? here : high;
    }
    free(line);
    if (file)
        fclose(file);
    if (high == 0)
        pl_reading_missing(reading, cpuinfo, ENODATA, "no line \"cpu MHz\"");
    else
        snprintf(reading->value, sizeof reading->value, "%.0f to %.0f MHz", low, high);
}

void pl_factor_turbo(const struct pl_factor_context *context, struct pl_reading *reading)
{
    static const struct {
        const char *path;
        char on;
    } switches[] = {{"/sys/devices/system/cpu/intel_pstate/no_turbo", '0'},
                    {"/sys/devices/system/cpu/cpufreq/boost", '1'}};
    char text[16];
    int error = ENOENT;
    (void)context;
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        error = pl_sysfile_line(switches[i].path, text, sizeof text);
        if (error == 0) {
            snprintf(reading->value, sizeof reading->value, "%s",
                     text[0] == switches[i].on ? "on" : "off");
            return;
        }
    }
    pl_reading_missing(reading, "intel_pstate/no_turbo, cpufreq/boost", error, no_frequencies);
}

void pl_factor_idle_driver(const struct pl_factor_context *context, struct pl_reading *reading)
{
    char governor[64];
    (void)context;
    pl_reading_line(reading, "/sys/devices/system/cpu/cpuidle/current_driver", "");
    size_t used = strlen(reading->value);
    if (used && (pl_sysfile_line("/sys/devices/system/cpu/cpuidle/current_governor_ro", governor,
                                 sizeof governor) == 0 ||
                 pl_sysfile_line("/sys/devices/system/cpu/cpuidle/current_governor", governor,
                                 sizeof governor) == 0))
        snprintf(reading->value + used, sizeof reading->value - used, ", governor %s", governor);
}
