/* Where ranks are bound to, and in which caches, on machines that are not there. */
#include "check.h"

#include "system/topology.h"
#include "units.h"

#include <hwloc.h>

#define MIB ((size_t)1 << 20)

static struct pl_surroundings around(const char *synthetic, const char *bound)
{
    hwloc_topology_t topology;
    struct pl_surroundings found = {0};
    const struct pl_units units = units_of(bound);
    if (CHECK(hwloc_topology_init(&topology) == 0 &&
              hwloc_topology_set_synthetic(topology, synthetic) == 0 &&
              hwloc_topology_load(topology) == 0))
        found = pl_surroundings_of(topology, &units);
    hwloc_topology_destroy(topology);
    return found;
}

static int is(struct pl_surroundings found, int package, int core)
{
    return found.package == package && found.core == core;
}

static void check_places(void)
{
    const char *two = "package:2 l2:2 core:1 pu:2"; /* units 0-1 core 0, …, 6-7 core 3 */
    CHECK(is(around(two, "0"), 0, 0));
    CHECK(is(around(two, "0-1"), 0, 0));
    CHECK(is(around(two, "0-3"), 0, -1));
    CHECK(is(around(two, "6"), 1, 3));
    CHECK(is(around(two, "0-7"), -1, -1));
    CHECK(is(around(two, "3-4"), -1, -1));
    CHECK(is(around(two, "6,4000"), 1, 3)); /* another cgroup's */
    CHECK(is(around(two, ""), -1, -1));
    CHECK(is(around("package:1 core:4 pu:1", "0-3"), 0, -1));
    CHECK(is(around("numa:2 core:2 pu:1", "3"), 0, 3));
    CHECK(is(around("package:1 pu:4", "2"), 0, 2));
}

static bool share(const char *synthetic, const char *a, const char *b)
{
    return around(synthetic, a).cache == around(synthetic, b).cache;
}

/* Chiplets with a cache each, and two NUMA nodes a package. */
static void check_neighbours(void)
{
    const char *chiplets = "package:2 [numa] group:2 [numa] l3:2 l2:2 core:1 pu:2";
    CHECK(share(chiplets, "0", "2") && !share(chiplets, "0", "4"));
    CHECK(around(chiplets, "0-3").cache >= 0 && around(chiplets, "0-4").cache == -1);
    CHECK(around(chiplets, "0").numa == around(chiplets, "4").numa);
    CHECK(around(chiplets, "0").numa != around(chiplets, "8").numa);
    CHECK(around(chiplets, "0").numa >= 0 && around(chiplets, "0-8").numa == -1);
    CHECK(around("package:1 core:2 pu:1", "0").cache == -1);
}

static void check_caches(void)
{
    const char *clustered =
        "package:2 l3:1(size=32MiB) l2:4(size=1MiB) l1d:1(size=48KiB) core:1 pu:1";
    struct pl_cache_sizes sizes = around(clustered, "0").caches;
    CHECK(sizes.private_bytes == MIB && sizes.largest_bytes == 32 * MIB);
    /* Two threads of one core share what is still its own. */
    sizes = around("package:1 l3:1(size=32MiB) l2:4(size=2MiB) l1d:1(size=48KiB) core:1 pu:2", "0")
                .caches;
    CHECK(sizes.private_bytes == 2 * MIB && sizes.largest_bytes == 32 * MIB);
    /* The second level is shared by two cores: the first is the last private one. */
    sizes = around("package:1 l2:2(size=4MiB) l1d:2(size=64KiB) core:1 pu:1", "0").caches;
    CHECK(sizes.private_bytes == 64 << 10 && sizes.largest_bytes == 4 * MIB);
    /* A core with all levels to itself. */
    sizes = around("package:2 l3:1(size=8MiB) l2:1(size=1MiB) l1d:1(size=32KiB) core:1 pu:1", "")
                .caches;
    CHECK(sizes.private_bytes == 8 * MIB);
    sizes = around("package:1 core:2 pu:1", "0").caches;
    CHECK(sizes.private_bytes == 0 && sizes.largest_bytes == 0 && sizes.line_bytes == 64);
}

/* hwloc reads back what it has written. */
static void check_synthetic(void)
{
    char text[512], missing[256];
    hwloc_topology_t topology;
    pl_topology_synthetic(text, sizeof text, missing, sizeof missing);
    CHECK((text[0] == '\0') != (missing[0] == '\0'));
    CHECK(hwloc_topology_init(&topology) == 0);
    CHECK(!text[0] || (strstr(text, "PU:") && hwloc_topology_set_synthetic(topology, text) == 0));
    hwloc_topology_destroy(topology);
}

int main(void)
{
    char version[64] = "", missing[256] = "";
    pl_topology_library(version, sizeof version, missing, sizeof missing);
    CHECK_TEXT(missing, "");
    CHECK(strncmp(version, "interface 2.", 12) == 0);
    check_places();
    check_neighbours();
    check_caches();
    check_synthetic();
    return check_done();
}
