/* Swing: peers, labels and the halving. */
#include "swing.h"

struct pl_swing pl_swing_of(const struct pl_fold *fold)
{
    struct pl_swing swing = {.fold = fold};
    while (1 << swing.steps < fold->power)
        swing.steps++;
    return swing;
}

int pl_swing_peer(const struct pl_swing *swing, int place, int step)
{
    int distance = 1; /* the sum of (-2)^i for i up to the step */
    for (int i = 0; i < step; i++)
        distance = 1 - 2 * distance;
    const int peer = place % 2 == 0 ? place + distance : place - distance;
    return peer & (swing->fold->power - 1);
}

/* Even places of one class agree modulo 2^(depth + 1), and an odd one is in the class of its last
 * peer, which is even. So the label has the bits of the even place but the lowest, the second one
 * first, and then tells even from odd. */
int pl_swing_label(const struct pl_swing *swing, int place)
{
    const bool odd = place % 2 != 0;
    const int even = odd ? pl_swing_peer(swing, place, swing->steps - 1) : place;
    int label = odd;
    for (int i = 1; i < swing->steps; i++)
        if (even >> i & 1)
            label |= 1 << (swing->steps - i);
    return label;
}

bool pl_swing_alike(const struct pl_swing *swing, int one, int other, int depth)
{
    return (one ^ other) >> (swing->steps - depth) == 0;
}

struct pl_range pl_swing_own(const struct pl_swing *swing, const struct pl_cut *blocks, int label,
                             int depth)
{
    const int width = swing->fold->power >> depth, begin = label / width * width;
    return pl_cut_run(blocks, begin, begin + width);
}

struct pl_range pl_swing_other(const struct pl_swing *swing, const struct pl_cut *blocks, int label,
                               int depth)
{
    return pl_swing_own(swing, blocks, label ^ swing->fold->power >> depth, depth);
}

int pl_swing_halve(struct pl_partial *partial, const struct pl_swing *swing,
                   const struct pl_cut *blocks)
{
    int rc = MPI_SUCCESS;
    const int place = swing->fold->place, label = pl_swing_label(swing, place);
    for (int step = 0; step < swing->steps; step++)
        PL_TRY(pl_partial_exchange(partial, pl_swing_other(swing, blocks, label, step + 1),
                                   pl_swing_own(swing, blocks, label, step + 1),
                                   pl_fold_rank(swing->fold, pl_swing_peer(swing, place, step)),
                                   false));
out:
    return rc;
}
