/* Neighbourhoods: stencils, random graphs, and the vectors that the ranks of a sparse matrix
 * exchange. */
#ifndef PL_TEST_GRAPHS_H
#define PL_TEST_GRAPHS_H

#include <stdbool.h>

/* Of one rank. `in_count` and `out_count` are the elements of each edge. */
struct graph {
    int in, out;
    int *sources, *in_count, *destinations, *out_count;
};

/* A periodic grid of p ranks, in rank order, with a neighbour in each direction: `points` is 5 (two
 * dimensions), 7 or 27 (three). Each edge has `count` elements. */
struct graph graph_stencil(int points, int count, int p, int rank);

/* Edges in both directions with `places` ranks, each of `count` elements. */
struct graph graph_both_ways(int places, const int *ranks, int count);

/* Any edges between any ranks: several between the same two, from a rank to itself, or none; in
 * another order at each end. */
struct graph graph_random(unsigned long long seed, int p, int rank);

/* Rows in equal parts, one a rank; each rank needs the elements of the vector in whose columns it
 * has entries. The file (matrix.py) has a line for each row with the columns right of the diagonal
 * of a symmetric pattern. Ends the program where there is no such file. */
struct graph graph_matrix(const char *path, int p, int rank);

void graph_free(struct graph *graph);

#endif
