/* Small files of the kernel, out of a folder of our own; and load out of files in the form of the
 * kernel's. */
#include "check.h"

#include "system/load.h"
#include "system/sysfile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/plumbline-sysfile-XXXXXX";
static char path[128];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "we");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

int main(void)
{
    char text[64], other[128];
    if (!CHECK(mkdtemp(folder) != NULL))
        return check_done();

    write_file("line", "  performance \nsecond\n");
    CHECK(pl_sysfile_line(in_folder("line"), text, sizeof text) == 0);
    CHECK_TEXT(text, "performance");
    CHECK(pl_sysfile_line(in_folder("nowhere"), text, sizeof text) == ENOENT);
    CHECK_TEXT(text, "");
    write_file("empty", "");
    CHECK(pl_sysfile_line(in_folder("empty"), text, sizeof text) == ENODATA);

    write_file("policy0", "powersave\n");
    write_file("policy1", "performance\n");
    write_file("policy2", "powersave\n");
    CHECK(pl_sysfile_lines(in_folder("policy*"), text, sizeof text) == 0);
    CHECK_TEXT(text, "performance, powersave");
    CHECK(pl_sysfile_lines(in_folder("none*"), text, sizeof text) == ENOENT);

    write_file("cpuinfo", "processor\t: 0\nmodel name\t: CPU, 2 GHz\nmodel\t: 7\n\n"
                          "processor\t: 1\nmodel name\t: CPU, 2 GHz\nmodel\t: 8\n");
    CHECK(pl_sysfile_field(in_folder("cpuinfo"), "model name", text, sizeof text) == 0);
    CHECK_TEXT(text, "CPU, 2 GHz");
    CHECK(pl_sysfile_field(in_folder("cpuinfo"), "model", text, sizeof text) == 0);
    CHECK_TEXT(text, "7, 8");
    CHECK(pl_sysfile_field(in_folder("cpuinfo"), "flags", text, sizeof text) == ENODATA);
    CHECK(pl_sysfile_field(in_folder("cpuinfo"), "model", text, 3) ==
          0); /* cut, not past its end */
    CHECK_TEXT(text, "7,");

    struct pl_load load;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    write_file("stat", "cpu  1 2 4 8 16 32 64 128 256 512\ncpu0 0 0 0 0 0 0 0 0 0 0\n");
    write_file("loadavg", "1.25 0.5 0.1 3/400 77\n");
    snprintf(other, sizeof other, "%s", in_folder("stat"));
    pl_load_read_files(&load, other, in_folder("loadavg"));
    CHECK(load.average == 1.25);
    CHECK(fabs(load.busy - tick * (1 + 2 + 4 + 32 + 64)) < 1e-9); /* idle and waiting left out */
    CHECK(fabs(load.stolen - tick * 128) < 1e-9);
    pl_load_read_files(&load, in_folder("nowhere"), path);
    CHECK(isnan(load.average) && isnan(load.busy) && isnan(load.stolen));

    static const char *const names[] = {"line",    "empty",   "policy0", "policy1",
                                        "policy2", "cpuinfo", "stat",    "loadavg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in_folder(names[i]));
    rmdir(folder);
    return check_done();
}
