/* Cuts of vectors, ranks folded to a power of two, and the ranges of recursive halving, for every p
 * up to 40. TAP; starts no MPI. */
#include "halving.h"
#include "../check.h"

enum { MOST = 40 };

static const int lengths[] = {0, 1, 2, 7, 8, 39, 1000, 2147483647 - MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Ranges follow one another from 0 to n; the longest comes first and the shortest is one less. */
static bool is_even_cut(int n, int p)
{
    const struct pl_cut cut = {.n = n, .ranges = p};
    const int longest = pl_cut_range(&cut, 0).count;
    int next = 0, before = longest;
    bool good = true;
    for (int i = 0; i < p; i++) {
        const struct pl_range range = pl_cut_range(&cut, i);
        good = good && range.first == next && range.count <= before && range.count >= longest - 1;
        next = range.first + range.count;
        before = range.count;
    }
    return good && next == n && pl_cut_run(&cut, 0, p).count == n;
}

/* Every rank has a place or a mate that has one; the places are 0 .. power - 1; the rank that must
 * be kept is; a place stands for its rank and the mate, which are neighbours. */
static bool is_fold(int p, int kept)
{
    int ranks_of[MOST] = {0};
    bool good = true;
    for (int rank = 0; rank < p; rank++) {
        const struct pl_fold fold = pl_fold_of(p, rank, kept);
        good = good && fold.power <= p && p < 2 * fold.power && fold.place < fold.power;
        good = good && (rank != kept || fold.place >= 0);
        if (fold.place >= 0) {
            const int first = pl_fold_first(&fold, fold.place);
            const int end = pl_fold_first(&fold, fold.place + 1);
            ranks_of[fold.place]++;
            good = good && pl_fold_rank(&fold, fold.place) == rank;
            good = good && pl_fold_place(&fold, rank) == fold.place;
            good = good && first <= rank && rank < end && end - first == 1 + (fold.mate >= 0);
            good = good && (fold.mate < 0 || (first <= fold.mate && fold.mate < end));
        }
        if (fold.mate >= 0) {
            const struct pl_fold mate = pl_fold_of(p, fold.mate, kept);
            good = good && mate.mate == rank && (mate.place < 0) != (fold.place < 0);
        } else {
            good = good && fold.place >= 0;
        }
    }
    for (int place = 0; place < pl_fold_of(p, 0, kept).power; place++)
        good = good && ranks_of[place] == 1;
    return good;
}

/* Places that differ by multiples of the distance share a range; the ranges of 0 .. distance - 1
 * do not overlap and are the vector; peers have the two halves of what they had. */
static bool halves(int p, int n)
{
    const struct pl_fold fold = pl_fold_of(p, 0, 0);
    const struct pl_cut blocks = {.n = n, .ranges = fold.power};
    bool good = true;
    for (int distance = 1; distance <= fold.power; distance *= 2) {
        long long sum = 0;
        for (int place = 0; place < fold.power; place++) {
            const struct pl_range own = pl_halves(&fold, &blocks, place, distance);
            const struct pl_range same = pl_halves(&fold, &blocks, place % distance, distance);
            good = good && own.first == same.first && own.count == same.count;
            sum += place < distance ? own.count : 0;
            if (distance == fold.power)
                continue;
            const struct pl_range left = pl_halves(&fold, &blocks, place, 2 * distance);
            const struct pl_range given = pl_halves(&fold, &blocks, place ^ distance, 2 * distance);
            const struct pl_range front = place & distance ? given : left;
            const struct pl_range back = place & distance ? left : given;
            good = good && front.first == own.first && front.first + front.count == back.first;
            good = good && front.count + back.count == own.count;
        }
        good = good && sum == n;
    }
    return good;
}

int main(void)
{
    bool cuts = true, folds = true, ranges = true;
    for (int p = 1; p <= MOST; p++) {
        for (int kept = 0; kept < p; kept++)
            folds = folds && is_fold(p, kept);
        for (int i = 0; i < LENGTHS; i++) {
            cuts = cuts && is_even_cut(lengths[i], p);
            ranges = ranges && halves(p, lengths[i]);
        }
    }
    CHECK(cuts);
    CHECK(folds);
    CHECK(ranges);

    const struct pl_fold seven = pl_fold_of(7, 5, 5);
    CHECK(seven.power == 4 && seven.place == 2 && seven.mate == 4);
    CHECK(pl_fold_of(7, 4, 5).place == -1 && pl_fold_of(7, 4, 0).place == 2);
    const struct pl_cut four = {.n = 8, .ranges = 4};
    CHECK(pl_halves(&seven, &four, 1, 4).first == 4 && pl_halves(&seven, &four, 1, 4).count == 2);
    CHECK(pl_halves(&seven, &four, 2, 4).first == 2);
    return check_done();
}
