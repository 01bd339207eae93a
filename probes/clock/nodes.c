#include "clock/nodes.h"

#include "fnv.h"
#include "system/alike.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TAG_NODE = 20 };

/* What the kernel does not tell is left out. */
static uint64_t identity(void)
{
    uint64_t value = PL_FNV_BEGIN;
    char text[MPI_MAX_PROCESSOR_NAME] = "";
    struct stat namespace;
    int length;

    PMPI_Get_processor_name(text, &length);
    value = pl_fnv(value, text, strlen(text));
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        value = pl_fnv(value, text, fread(text, 1, sizeof text, file));
        fclose(file);
    }
    if (stat("/proc/self/ns/time", &namespace) == 0)
        value = pl_fnv(value, &namespace.st_ino, sizeof namespace.st_ino);
    return value;
}

bool pl_clock_nodes_find(struct pl_clock_nodes *nodes, const struct pl_world *world)
{
    uint64_t mine = identity(), *all = NULL;
    size_t size = (size_t)world->size;

    nodes->count = 0;
    nodes->of_rank = calloc(size, sizeof *nodes->of_rank);
    nodes->first = calloc(size, sizeof *nodes->first);
    nodes->ranks = calloc(size, sizeof *nodes->ranks);
    nodes->start = calloc(size + 1, sizeof *nodes->start);
    if (world->rank == 0)
        all = calloc(size, sizeof *all);
    bool good = nodes->of_rank && nodes->first && nodes->ranks && nodes->start;
    if (pl_p2p_agree(world, !good || (world->rank == 0 && !all))) {
        free(all);
        return false;
    }
    pl_p2p_gather(world, &mine, (int)sizeof mine, all);
    if (world->rank == 0)
        pl_alike(all, sizeof *all, sizeof *all, world->size, nodes->ranks, nodes->start);
    for (int rank = 0; rank < world->size && world->rank == 0; rank++) {
        int first = nodes->ranks[rank];
        nodes->of_rank[rank] = first < rank ? nodes->of_rank[first] : nodes->count;
        if (first == rank)
            nodes->first[nodes->count++] = rank;
    }
    free(all);
    pl_p2p_broadcast(world, &nodes->count, (int)sizeof nodes->count);
    pl_p2p_broadcast(world, nodes->of_rank, (int)(size * sizeof *nodes->of_rank));
    pl_p2p_broadcast(world, nodes->first, (int)(size * sizeof *nodes->first));
    memset(nodes->start, 0, (size + 1) * sizeof *nodes->start);
    for (int rank = 0; rank < world->size; rank++)
        nodes->start[nodes->of_rank[rank]]++;
    for (int node = 1; node <= nodes->count; node++) /* where a node ends, until its ranks are in */
        nodes->start[node] += nodes->start[node - 1];
    for (int rank = world->size - 1; rank >= 0; rank--)
        nodes->ranks[--nodes->start[nodes->of_rank[rank]]] = rank;
    return true;
}

void pl_clock_nodes_free(struct pl_clock_nodes *nodes)
{
    free(nodes->of_rank);
    free(nodes->first);
    free(nodes->ranks);
    free(nodes->start);
    *nodes = (struct pl_clock_nodes){0};
}

void pl_clock_nodes_broadcast(const struct pl_clock_nodes *nodes, const struct pl_world *world,
                              void *buffer, int bytes)
{
    int node = nodes->of_rank[world->rank], first = nodes->first[node];
    if (world->rank != first) {
        PMPI_Recv(buffer, bytes, MPI_BYTE, first, TAG_NODE, world->harness, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = nodes->start[node] + 1; i < nodes->start[node + 1]; i++)
        PMPI_Send(buffer, bytes, MPI_BYTE, nodes->ranks[i], TAG_NODE, world->harness);
}
