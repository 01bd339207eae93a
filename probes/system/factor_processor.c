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

PL_READER(cpu_model)
{
    static const char *const keys[] = {"model name", "cpu", "CPU part"}; /* x86, POWER, ARM */
    int error = ENODATA;
    for (size_t i = 0; error && i < sizeof keys / sizeof *keys; i++)
        error = pl_sysfile_field(cpuinfo, keys[i], reading->value, sizeof reading->value);
    if (error)
        pl_reading_missing(reading, cpuinfo, error, "");
}

PL_READER(microcode)
{
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

PL_READER(tsc)
{
    static const char *const wanted[] = {"constant_tsc", "nonstop_tsc",    "rdtscp",
                                         "tsc",          "tsc_known_freq", "tsc_reliable"};
    char flags[8192];
    struct pl_words found = {0};
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

PL_READER(hypervisor)
{
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

PL_LINE_READER(smt, "/sys/devices/system/cpu/smt/control", "")

static void lines(struct pl_reading *reading, const char *pattern)
{
    int error = pl_sysfile_lines(pattern, reading->value, sizeof reading->value);
    if (error)
        pl_reading_missing(reading, pattern, error, no_frequencies);
}

#define LINES_READER(name, pattern)                                                                \
    PL_READER(name)                                                                                \
    {                                                                                              \
        lines(reading, pattern);                                                                   \
    }
#define CPUFREQ "/sys/devices/system/cpu/cpufreq/policy*/"

LINES_READER(governor, CPUFREQ "scaling_governor")
LINES_READER(frequency_driver, CPUFREQ "scaling_driver")
LINES_READER(energy_preference, CPUFREQ "energy_performance_preference")

PL_READER(frequency_limits)
{
    struct pl_reading low = {0}, high = {0};
    lines(&low, CPUFREQ "scaling_min_freq");
    lines(&high, CPUFREQ "scaling_max_freq");
    if (low.missing[0] || high.missing[0])
        *reading = low.missing[0] ? low : high;
    else
        snprintf(reading->value, sizeof reading->value, "from %.200s to %.200s kHz", low.value,
                 high.value);
}

/* The slowest and the fastest processor at this moment, MHz. */
PL_READER(frequency_now)
{
    double low = 0, high = 0;
    char *line = NULL;
    size_t room = 0;
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

PL_READER(turbo)
{
    static const struct {
        const char *path;
        char on;
    } switches[] = {{"/sys/devices/system/cpu/intel_pstate/no_turbo", '0'},
                    {"/sys/devices/system/cpu/cpufreq/boost", '1'}};
    char text[16];
    int error = ENOENT;
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

PL_READER(idle_driver)
{
    char governor[64];
    pl_reading_line(reading, "/sys/devices/system/cpu/cpuidle/current_driver", "");
    size_t used = strlen(reading->value);
    if (used && (pl_sysfile_line("/sys/devices/system/cpu/cpuidle/current_governor_ro", governor,
                                 sizeof governor) == 0 ||
                 pl_sysfile_line("/sys/devices/system/cpu/cpuidle/current_governor", governor,
                                 sizeof governor) == 0))
        snprintf(reading->value + used, sizeof reading->value - used, ", governor %s", governor);
}
