/* What the kernel does with processes and memory, and how it was told to. */
#include "system/factors.h"
#include "system/sysfile.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

PL_READER(kernel)
{
    struct utsname name;
    if (uname(&name) == 0)
        snprintf(reading->value, sizeof reading->value, "%s %s %s %s", name.sysname, name.release,
                 name.version, name.machine);
    else
        pl_reading_missing(reading, "uname", errno, "");
}

/* Options at boot that change times; the others name disks and consoles. */
PL_READER(kernel_options)
{
    static const char *const wanted[] = {
        "amd_pstate",
        "audit",
        "clocksource",
        "cpufreq",
        "cpuidle",
        "default_hugepagesz",
        "haltpoll",
        "hugepages",
        "hugepagesz",
        "idle",
        "intel_idle",
        "intel_pstate",
        "iommu",
        "irqaffinity",
        "isolcpus",
        "mitigations",
        "nohz",
        "nohz_full",
        "noibrs",
        "nopti",
        "nosmt",
        "nospectre_v2",
        "numa_balancing",
        "preempt",
        "processor",
        "rcu_nocbs",
        "skew_tick",
        "spectre_v2",
        "spec_store_bypass_disable",
        "transparent_hugepage",
        "tsc",
        "cpuidle_haltpoll",
    };
    char line[4096], *rest = NULL;
    struct pl_words found = {0};

    int error = pl_sysfile_line("/proc/cmdline", line, sizeof line);
    if (error) {
        pl_reading_missing(reading, "/proc/cmdline", error, "");
        return;
    }
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t length = strcspn(word, "=.");
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (strlen(wanted[i]) == length && strncmp(word, wanted[i], length) == 0)
                pl_words_add(&found, word);
    }
    pl_words_join(&found, reading->value, sizeof reading->value);
    if (!found.count)
        snprintf(reading->value, sizeof reading->value, "none");
}

PL_LINE_READER(boot, "/proc/sys/kernel/random/boot_id", "")
PL_LINE_READER(clocksource, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "")

/* "always [madvise] never": the one in brackets. */
PL_READER(transparent_huge_pages)
{
    pl_reading_line(reading, "/sys/kernel/mm/transparent_hugepage/enabled",
                    "the kernel was built without them");
    char *open = strchr(reading->value, '['), *close = strchr(reading->value, ']');
    if (open && close > open) {
        *close = '\0';
        memmove(reading->value, open + 1, strlen(open + 1) + 1);
    }
}

PL_LINE_READER(huge_pages, "/proc/sys/vm/nr_hugepages", "the kernel was built without them")

PL_READER(address_randomisation)
{
    pl_reading_line(reading, "/proc/sys/kernel/randomize_va_space", "");
    if (reading->value[0] && (personality(0xffffffff) & ADDR_NO_RANDOMIZE))
        snprintf(reading->value, sizeof reading->value, "0 (for this process)");
}

PL_LINE_READER(numa_balancing, "/proc/sys/kernel/numa_balancing", "the kernel was built without it")

PL_VALUE_READER(page_bytes, "%ld", sysconf(_SC_PAGESIZE))

PL_READER(scheduling)
{
    static const struct {
        int policy;
        const char *name;
    } policies[] = {{SCHED_OTHER, "other"},
                    {SCHED_BATCH, "batch"},
                    {SCHED_IDLE, "idle"},
                    {SCHED_FIFO, "fifo"},
                    {SCHED_RR, "rr"}};
    int policy = sched_getscheduler(0);
    const char *name = "of another kind";
    if (policy < 0) {
        pl_reading_missing(reading, "sched_getscheduler", errno, "");
        return;
    }
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (policies[i].policy == (policy & ~SCHED_RESET_ON_FORK))
            name = policies[i].name;
    snprintf(reading->value, sizeof reading->value, "%s, nice %d", name,
             getpriority(PRIO_PROCESS, 0));
}

/* Processors that a cgroup directory grants; INFINITY: no limit; NAN: the directory does not say.
 */
static double quota_of(const char *directory)
{
    char path[4608], text[128];
    double quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", directory);
    if (pl_sysfile_line(path, text, sizeof text) == 0)
        return sscanf(text, "%lf %lf", &quota, &period) == 2 ? quota / period : (double)INFINITY;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (pl_sysfile_line(path, text, sizeof text) != 0)
        return (double)NAN;
    quota = atof(text);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (quota < 0 || pl_sysfile_line(path, text, sizeof text) != 0)
        return (double)INFINITY;
    return quota / atof(text);
}

/* The controllers of a line "0::/path" or "4:cpu,cpuacct:/path" that limit the processor: where
 * their file system may be mounted. */
static const char *mount_of(const char *controllers)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
    if (!*controllers)
        return access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0 ? "/sys/fs/cgroup" : NULL;
    if (strcmp(controllers, "cpu") != 0 && strncmp(controllers, "cpu,", 4) != 0 &&
        !strstr(controllers, ",cpu,") &&
        (strlen(controllers) < 4 || strcmp(controllers + strlen(controllers) - 4, ",cpu") != 0))
        return NULL;
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++)
        if (access(mounts[i], R_OK) == 0)
            return mounts[i];
    return NULL;
}

/* The tightest limit from the process's own cgroup up to the root. */
PL_READER(cgroup_cpu)
{
    char line[4096], directory[4352];
    double limit = (double)INFINITY;
    bool looked = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) {
        pl_reading_missing(reading, "/proc/self/cgroup", errno, "");
        return;
    }
    while (fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        const char *mount = mount_of(controllers + 1);
        if (!mount)
            continue;
        looked = true;
        int length = snprintf(directory, sizeof directory, "%s%s", mount, path);
        while (length >= (int)strlen(mount)) {
            double quota = quota_of(directory);
            if (quota < limit)
                limit = quota;
            char *slash = strrchr(directory, '/');
            *slash = '\0';
            length = (int)(slash - directory);
        }
    }
    fclose(file);
    if (!looked)
        snprintf(reading->missing, sizeof reading->missing,
                 "no cgroup file system with a cpu controller under /sys/fs/cgroup");
    else if (isinf(limit))
        snprintf(reading->value, sizeof reading->value, "no limit");
    else
        snprintf(reading->value, sizeof reading->value, "%g processors", limit);
}

PL_READER(locked_memory)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        pl_reading_missing(reading, "getrlimit", errno, "");
    else if (limit.rlim_cur == RLIM_INFINITY)
        snprintf(reading->value, sizeof reading->value, "no limit");
    else
        snprintf(reading->value, sizeof reading->value, "%llu bytes",
                 (unsigned long long)limit.rlim_cur);
}
