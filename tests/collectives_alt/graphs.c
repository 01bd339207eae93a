#include "graphs.h"
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    if (!memory)
        abort();
    return memory;
}

static struct graph with_room(int in, int out)
{
    return (struct graph){.sources = need((size_t)in * sizeof(int)),
                          .in_count = need((size_t)in * sizeof(int)),
                          .destinations = need((size_t)out * sizeof(int)),
                          .out_count = need((size_t)out * sizeof(int))};
}

void graph_free(struct graph *graph)
{
    free(graph->sources);
    free(graph->in_count);
    free(graph->destinations);
    free(graph->out_count);
}

static void add_source(struct graph *graph, int rank, int count)
{
    graph->sources[graph->in] = rank;
    graph->in_count[graph->in++] = count;
}

static void add_destination(struct graph *graph, int rank, int count)
{
    graph->destinations[graph->out] = rank;
    graph->out_count[graph->out++] = count;
}

/* --- stencils --- */

static int moved(const int dims[3], int rank, const int by[3])
{
    int at[3] = {rank / (dims[1] * dims[2]), rank / dims[2] % dims[1], rank % dims[2]};
    for (int d = 0; d < 3; d++)
        at[d] = (at[d] + by[d] + dims[d]) % dims[d];
    return (at[0] * dims[1] + at[1]) * dims[2] + at[2];
}

struct graph graph_stencil(int points, int count, int p, int rank)
{
    struct graph graph = with_room(points, points);
    int dims[3] = {points == 5 ? 1 : 0, 0, 0};
    MPI_Dims_create(p, 3, dims);
    for (int i = 0; i < 27; i++) {
        const int by[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
        const int steps = abs(by[0]) + abs(by[1]) + abs(by[2]);
        if (steps == 0 || (points != 27 && steps > 1) || (points == 5 && by[0] != 0))
            continue;
        const int back[3] = {-by[0], -by[1], -by[2]};
        add_source(&graph, moved(dims, rank, back), count);
        add_destination(&graph, moved(dims, rank, by), count);
    }
    return graph;
}

struct graph graph_both_ways(int places, const int *ranks, int count)
{
    struct graph graph = with_room(places, places);
    for (int i = 0; i < places; i++) {
        add_source(&graph, ranks[i], count);
        add_destination(&graph, ranks[i], count);
    }
    return graph;
}

/* --- random graphs --- */

struct graph graph_random(unsigned long long seed, int p, int rank)
{
    struct draw draw = draw_from(seed, 1, 0), own = draw_from(seed, 2, (unsigned)rank);
    const int edges = draw_below(&draw, 1 + 5 * p), most = 1 + draw_below(&draw, p);
    struct graph graph = with_room(edges, edges);
    for (int i = 0; i < edges; i++) {
        const int from = draw_below(&draw, most), to = draw_below(&draw, p);
        const int count = draw_below(&draw, 4) * draw_below(&draw, 40);
        if (from == rank)
            add_destination(&graph, to, count);
        if (to == rank)
            add_source(&graph, from, count);
    }
    /* Sources in another order, but for those that are the same rank. */
    struct graph other = with_room(edges, 0);
    int *ranks = need((size_t)p * sizeof *ranks);
    for (int i = 0; i < p; i++)
        ranks[i] = i;
    draw_shuffle(&own, ranks, p);
    for (int i = 0; i < p; i++)
        for (int j = 0; j < graph.in; j++)
            if (graph.sources[j] == ranks[i])
                add_source(&other, graph.sources[j], graph.in_count[j]);
    memcpy(graph.sources, other.sources, (size_t)graph.in * sizeof(int));
    memcpy(graph.in_count, other.in_count, (size_t)graph.in * sizeof(int));
    graph_free(&other);
    free(ranks);
    return graph;
}

/* --- a sparse matrix --- */

/* The rank whose rows have number `row`. */
static int owner(int row, int rows, int p)
{
    return (int)((long long)row * p / rows);
}

struct graph graph_matrix(const char *path, int p, int rank)
{
    char line[4096];
    int rows = 0, row = 0;
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d rows\n", &rows) != 1 || rows < p) {
        fprintf(stderr, "%s is no matrix of at least %d rows\n", path, p);
        exit(2);
    }
    /* needs[j * rows + c]: rank j has entries in column c */
    char *needs = need((size_t)p * (size_t)rows);
    for (; row < rows && fgets(line, sizeof line, file); row++) {
        char *at = line, *end;
        for (long column; (column = strtol(at, &end, 10)), end != at; at = end) {
            needs[(size_t)owner(row, rows, p) * (size_t)rows + (size_t)column] = 1;
            needs[(size_t)owner((int)column, rows, p) * (size_t)rows + (size_t)row] = 1;
        }
    }
    fclose(file);
    struct graph graph = with_room(p, p);
    for (int other = 0; other < p; other++) {
        int in = 0, out = 0;
        for (int column = 0; column < rows && other != rank; column++) {
            const int of = owner(column, rows, p);
            in += of == other && needs[(size_t)rank * (size_t)rows + (size_t)column];
            out += of == rank && needs[(size_t)other * (size_t)rows + (size_t)column];
        }
        if (in > 0)
            add_source(&graph, other, in);
        if (out > 0)
            add_destination(&graph, other, out);
    }
    free(needs);
    return graph;
}
