/* Bine trees and butterflies: partners of which even ranks look in one direction and odd ones in
 * the other, at distances of about a third of the ranks instead of half of them.
 *
 * Source: De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication
 * Locality", SC 2025 (arXiv 2508.17311). */
#ifndef PL_BINE_H
#define PL_BINE_H

/* Distance j of 1, 2, …: 1, -1, 3, -5, 11, …, which is (1 - (-2)^j) / 3. All are odd, so that an
 * even place has odd partners. */
static inline int pl_bine_distance(int j)
{
    int distance = 1;
    for (; j > 1; j--)
        distance = 1 - 2 * distance;
    return distance;
}

/* The place `offset` from v among q, which is even: forwards from even places, else backwards. */
static inline int pl_bine_place(int v, int offset, int q)
{
    const int place = (int)((v + (v % 2 == 0 ? 1LL : -1LL) * offset) % q);
    return place < 0 ? place + q : place;
}

#endif
