#include "system/load.h"

#include "simulated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

void pl_load_read_files(struct pl_load *load, const char *stat, const char *loadavg)
{
    unsigned long long user, nice, kernel, idle, iowait, irq, softirq, steal;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);

    load->average = load->busy = load->stolen = (double)NAN;
    FILE *file = fopen(stat, "re");
    if (file && fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &kernel,
                       &idle, &iowait, &irq, &softirq, &steal) == 8) {
        load->busy = tick * (double)(user + nice + kernel + irq + softirq);
        load->stolen = tick * (double)steal;
    }
    if (file)
        fclose(file);
    file = fopen(loadavg, "re");
    if (file && fscanf(file, "%lf", &load->average) != 1)
        load->average = (double)NAN;
    if (file)
        fclose(file);
}

void pl_load_read(struct pl_load *load)
{
    struct rusage usage;
    *load = (struct pl_load){(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    if (PL_SIMULATED)
        return;
    pl_load_read_files(load, "/proc/stat", "/proc/loadavg");
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        load->own = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                    1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

bool pl_load_gather(struct pl_host_load **loads, const struct pl_world *world,
                    const struct pl_hosts *hosts, const struct pl_load *start)
{
    struct pl_load now;
    struct pl_host_load *every = NULL;
    pl_load_read(&now);
    struct pl_host_load mine = {.average_start = start->average,
                                .average_end = now.average,
                                .busy = now.busy - start->busy,
                                .stolen = now.stolen - start->stolen,
                                .own = now.own - start->own};
    *loads = NULL;
    if (world->rank == 0) {
        every = calloc((size_t)world->size, sizeof *every);
        *loads = calloc((size_t)hosts->count, sizeof **loads);
    }
    bool good = !pl_p2p_agree(world, world->rank == 0 && (!every || !*loads));
    if (good)
        pl_p2p_gather(world, &mine, (int)sizeof mine, every);
    for (int rank = 0; good && world->rank == 0 && rank < world->size; rank++) {
        struct pl_host_load *load = &(*loads)[hosts->of[rank]];
        double own = load->own + every[rank].own;
        if (hosts->readers[hosts->of[rank]] == rank)
            *load = every[rank];
        else
            load->own = own;
    }
    free(every);
    if (!good) {
        free(*loads);
        *loads = NULL;
    }
    return good;
}
