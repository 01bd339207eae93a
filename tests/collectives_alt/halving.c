/* Cuts of vectors, ranks folded to a power of two, and the ranges of halvings, for every p up
 * to 40. TAP; starts no MPI. */
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

static bool equal(struct pl_range one, struct pl_range other)
{
    return one.first == other.first && one.count == other.count;
}

/* What place `place` has after `depth` steps. */
static struct pl_range left_on(const struct pl_fold *fold, const struct pl_peers *peers, int place,
                               int depth, int n)
{
    struct pl_fold moved = *fold;
    moved.place = place;
    const struct pl_cut blocks = {.n = n, .ranges = fold->power};
    const struct pl_halving halving = pl_halving_of(&moved, peers);
    return pl_halving_own(&halving, &blocks, depth);
}

/* Peers are each other's; they had the same range, and have the two halves of it. At last each
 * place has the block of its label, and all labels are different. */
static bool halves(const struct pl_peers *peers, int p, int n)
{
    const struct pl_fold fold = pl_fold_of(p, 0, 0);
    const struct pl_cut blocks = {.n = n, .ranges = fold.power};
    int places_of[MOST] = {0}, steps = 0;
    bool good = true;
    for (int place = 0; place < fold.power; place++) {
        struct pl_fold moved = fold;
        moved.place = place;
        const struct pl_halving halving = pl_halving_of(&moved, peers);
        steps = halving.steps;
        good = good && 1 << steps == fold.power && halving.label >= 0 && halving.label < fold.power;
        if (!good)
            return false;
        places_of[halving.label]++;
        good =
            equal(pl_halving_own(&halving, &blocks, 0), (struct pl_range){0, n}) &&
            equal(pl_halving_own(&halving, &blocks, steps), pl_cut_range(&blocks, halving.label));
        for (int step = 0; step < steps; step++) {
            const int peer = peers->peer(fold.power, place, step);
            const struct pl_range had = pl_halving_own(&halving, &blocks, step);
            const struct pl_range own = pl_halving_own(&halving, &blocks, step + 1);
            const struct pl_range given = pl_halving_other(&halving, &blocks, step + 1);
            const int first = own.first < given.first ? own.first : given.first;
            good = good && peer >= 0 && peer < fold.power && peer != place &&
                   peers->peer(fold.power, peer, step) == place &&
                   pl_halving_peer(&halving, step) == pl_fold_rank(&fold, peer) &&
                   equal(left_on(&fold, peers, peer, step, n), had) &&
                   equal(left_on(&fold, peers, peer, step + 1, n), given) && first == had.first &&
                   own.count + given.count == had.count;
        }
    }
    for (int label = 0; label < fold.power; label++)
        good = good && places_of[label] == 1;
    return good;
}

/* Runs of ranks beside each other meet, so the order of operands can be kept. */
static bool keeps_order(int p)
{
    const struct pl_fold fold = pl_fold_of(p, 0, 0);
    bool good = true;
    for (int place = 0; place < fold.power; place++)
        for (int distance = 1, step = 0; distance < fold.power; distance *= 2, step++)
            good = good &&
                   pl_near_first.peer(fold.power, place, step) / distance == (place / distance ^ 1);
    return good;
}

int main(void)
{
    bool cuts = true, folds = true, near = true, far = true, swing = true, order = true;
    for (int p = 1; p <= MOST; p++) {
        for (int kept = 0; kept < p; kept++)
            folds = folds && is_fold(p, kept);
        order = order && keeps_order(p);
        for (int i = 0; i < LENGTHS; i++) {
            cuts = cuts && is_even_cut(lengths[i], p);
            near = near && halves(&pl_near_first, p, lengths[i]);
            far = far && halves(&pl_far_first, p, lengths[i]);
            swing = swing && halves(&pl_swing, p, lengths[i]);
        }
    }
    CHECK(cuts);
    CHECK(folds);
    CHECK(near);
    CHECK(far);
    CHECK(swing);
    CHECK(order);

    const struct pl_fold seven = pl_fold_of(7, 5, 5);
    CHECK(seven.power == 4 && seven.place == 2 && seven.mate == 4);
    CHECK(pl_fold_of(7, 4, 5).place == -1 && pl_fold_of(7, 4, 0).place == 2);
    CHECK(pl_near_first.label(4, 1) == 2 && pl_near_first.label(4, 2) == 1);
    CHECK(pl_far_first.label(4, 1) == 1 && pl_far_first.peer(4, 1, 0) == 3);
    CHECK(pl_swing.peer(8, 2, 2) == 5 && pl_swing.peer(8, 5, 2) == 2);
    return check_done();
}
