/* A halving whose peers are near, on this side and on that in turn: at the distances 1, -1, 3, -5,
 * 11, … from an even place, and against these from an odd one.
 *
 * Source: De Sensi, Bonato, Saam, Hoefler, "Swing", NSDI 2024; the trees and butterflies of bine.h
 * have the same distances. */
#include "bine.h"
#include "halving.h"

static int peer(int power, int place, int step)
{
    return pl_bine_place(place, pl_bine_distance(step + 1), power);
}

/* Even places with the same first bits agree modulo 2^(depth + 1), and an odd one has the bits of
 * its last peer, which is even. So the label has the bits of the even place but the lowest, the
 * second one first, and then tells even from odd. */
static int label(int power, int place)
{
    int steps = 0, bits = place % 2;
    while (1 << steps < power)
        steps++;
    const int even = bits ? peer(power, place, steps - 1) : place;
    for (int i = 1; i < steps; i++)
        if (even >> i & 1)
            bits |= 1 << (steps - i);
    return bits;
}

const struct pl_peers pl_swing = {peer, label};
