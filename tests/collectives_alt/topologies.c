#include "topologies.h"

#include "draw.h"

#include <stdlib.h>

enum { DIMENSIONS = 3 };

static int *need(int numbers)
{
    int *memory = calloc((size_t)numbers + 1, sizeof *memory);
    if (!memory)
        abort();
    return memory;
}

static int divisor_of(struct draw *draw, int number)
{
    const int from = draw_below(draw, number);
    for (int i = 0;; i++) {
        const int candidate = 1 + (from + i) % number;
        if (number % candidate == 0)
            return candidate;
    }
}

static void make_grid(struct draw *draw, MPI_Comm comm, int p, struct topology *made)
{
    const int dimensions = 1 + draw_below(draw, DIMENSIONS);
    int dims[DIMENSIONS], periods[DIMENSIONS], ranks[2 * DIMENSIONS], rest = p;
    for (int d = 0; d < dimensions; d++) {
        dims[d] = d == dimensions - 1 ? rest : divisor_of(draw, rest);
        periods[d] = draw_chance(draw, 50);
        rest /= dims[d];
    }
    MPI_Cart_create(comm, dimensions, dims, periods, 0, &made->comm);
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(made->comm, d, 1, &ranks[2 * d], &ranks[2 * d + 1]);
    made->graph = graph_both_ways(2 * dimensions, ranks, 0);
    made->name = "grid";
}

/* All ranks know all edges. `edges[a * p + b]`: how many join a and b. */
static void make_graph(struct draw *draw, MPI_Comm comm, int p, int rank, struct topology *made)
{
    int *edges = need(p * p), *ends = need(p), *neighbors = need(4 * p);
    const int some = draw_below(draw, 2 * p + 1), most = 1 + draw_below(draw, p);
    for (int i = 0; i < some; i++) {
        const int a = draw_below(draw, most), b = draw_below(draw, most);
        edges[a * p + b]++;
        if (a != b)
            edges[b * p + a]++;
    }
    int end = 0;
    for (int a = 0; a < p; a++) {
        const int first = end;
        for (int b = 0; b < p; b++)
            for (int i = 0; i < edges[a * p + b]; i++)
                neighbors[end++] = b;
        draw_shuffle(draw, neighbors + first, end - first);
        ends[a] = end;
    }
    MPI_Graph_create(comm, p, ends, neighbors, 0, &made->comm);
    const int first = rank > 0 ? ends[rank - 1] : 0;
    made->graph = graph_both_ways(ends[rank] - first, neighbors + first, 0);
    made->name = "graph";
    free(edges);
    free(ends);
    free(neighbors);
}

/* Each rank knows its edges; they keep their numbers (graph_random). */
static void make_adjacent(struct draw *draw, MPI_Comm comm, int p, int rank, struct topology *made)
{
    made->graph = graph_random(draw_bits(draw), p, rank);
    const struct graph *graph = &made->graph;
    MPI_Dist_graph_create_adjacent(comm, graph->in, graph->sources, graph->in_count, graph->out,
                                   graph->destinations, graph->out_count, MPI_INFO_NULL, 0,
                                   &made->comm);
    made->name = "adjacent graph";
}

/* Each rank knows the edges that it sends along; the library says in which order they are. */
static void make_distributed(struct draw *draw, MPI_Comm comm, int p, int rank,
                             struct topology *made)
{
    struct graph known = graph_random(draw_bits(draw), p, rank);
    MPI_Dist_graph_create(comm, 1, &rank, &known.out, known.destinations, known.out_count,
                          MPI_INFO_NULL, 0, &made->comm);
    MPI_Dist_graph_neighbors(made->comm, known.in, known.sources, known.in_count, known.out,
                             known.destinations, known.out_count);
    for (int i = 0; i < known.in; i++)
        known.in_count[i] = 0;
    for (int i = 0; i < known.out; i++)
        known.out_count[i] = 0;
    made->graph = known;
    made->name = "distributed graph";
}

struct topology topology_draw(unsigned long long seed, MPI_Comm comm)
{
    struct draw draw = draw_from(seed, 4, 0);
    struct topology made;
    int p, rank;
    MPI_Comm_size(comm, &p);
    MPI_Comm_rank(comm, &rank);
    const int kind = draw_below(&draw, 8);
    if (kind < 3)
        make_grid(&draw, comm, p, &made);
    else if (kind < 5)
        make_graph(&draw, comm, p, rank, &made);
    else if (kind < 7)
        make_adjacent(&draw, comm, p, rank, &made);
    else
        make_distributed(&draw, comm, p, rank, &made);
    return made;
}

void topology_free(struct topology *topology)
{
    MPI_Comm_free(&topology->comm);
    graph_free(&topology->graph);
}
