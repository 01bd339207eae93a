/* Schedules of blocks on a circulant graph: p ranks, q = ceil(log2 p) neighbours in each direction,
 * at the distances skip[0] = 1, skip[1], …, skip[q - 1]. Rank 0 broadcasts blocks 0, 1, 2, … In
 * round i every rank v sends a block to v + skip[i mod q] and receives one from v - skip[i mod q];
 * after n - 1 + q rounds all ranks have n blocks, which no schedule does in fewer rounds.
 *
 * Source: Traeff, "Fast(er) Construction of Round-optimal n-Block Broadcast Schedules", CLUSTER
 * 2022 (arXiv 2205.10072), and "Optimal Broadcast Schedules in Logarithmic Time" (arXiv
 * 2407.18004). */
#ifndef PL_CIRCULANT_H
#define PL_CIRCULANT_H

enum { PL_ROUNDS_MOST = 31 };

struct pl_circulant {
    int p, q;
    int skip[PL_ROUNDS_MOST + 1]; /* skip[q] is p; each is half the next one, rounded up */
    int blocks;
    int first, end; /* rounds run from `first` to `end` - 1; `end` is a multiple of q */
};

struct pl_circulant pl_circulant_of(int p, int blocks);

/* Finds the numbers of the blocks that v, from 1 to p - 1, receives in the q rounds of a phase.
 * They are from -q to q - 1 and all different; one is not negative. */
void pl_circulant_receives(const struct pl_circulant *graph, int v, signed char *blocks);

/* Returns how many rounds before a round i, with i mod q = k, a rank that receives `blocks` got the
 * block that it sends with `number`. */
int pl_circulant_lag(const struct pl_circulant *graph, const signed char *blocks, int k,
                     int number);

/* Returns the block of round i; `number` is that of i mod q. Negative: there is none yet. */
int pl_circulant_block(const struct pl_circulant *graph, int i, int number);

#endif
