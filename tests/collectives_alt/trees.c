/* Trees of every size up to 40: one tree, its subtrees where they should be, its depth, and some
 * shapes drawn by hand. TAP; starts no MPI. */
#include "trees.h"
#include "../check.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { MOST = 40 };

static struct pl_tree at(int v, int p, int radix, int fan_out)
{
    return radix ? pl_knomial(v, p, radix) : pl_kary(v, p, fan_out);
}

static int depth_of(int v, int p, int radix, int fan_out)
{
    int depth = 0;
    for (; v > 0 && depth <= p; depth++)
        v = at(v, p, radix, fan_out).parent;
    return depth;
}

/* Every rank but 0 is the child of its parent and of nobody else; children ascend, and behind them
 * all comes nothing of their subtrees. */
static bool is_tree(int p, int radix, int fan_out)
{
    int seen[MOST] = {0};
    bool good = at(0, p, radix, fan_out).parent == -1;
    for (int v = 0; v < p; v++) {
        const struct pl_tree tree = at(v, p, radix, fan_out);
        int before = v, next = v + 1;
        for (int i = 0; i < tree.children; i++) {
            const int child = pl_child(&tree, i), span = pl_child_span(&tree, i);
            good = good && child > before && child < p;
            good = good && at(child, p, radix, fan_out).parent == v;
            good = good && at(child, p, radix, fan_out).span == span;
            good = good && (tree.span == 0 || child == next);
            before = child;
            next = child + span;
            seen[child]++;
        }
        good = good && (tree.span == 0 || next == v + tree.span);
        good = good && depth_of(v, p, radix, fan_out) <= p;
    }
    for (int v = 0; v < p; v++)
        good = good && seen[v] == (v > 0);
    return good;
}

static int deepest(int p, int radix, int fan_out)
{
    int most = 0;
    for (int v = 0; v < p; v++)
        if (depth_of(v, p, radix, fan_out) > most)
            most = depth_of(v, p, radix, fan_out);
    return most;
}

static int ceil_log(int p, int radix)
{
    int rounds = 0;
    for (int reach = 1; reach < p; reach *= radix)
        rounds++;
    return rounds;
}

static void all_sizes(void)
{
    bool knomial = true, kary = true, flat = true;
    for (int p = 1; p <= MOST; p++)
        for (int k = 1; k <= p + 1; k++) {
            kary = kary && is_tree(p, 0, k);
            if (k < 2)
                continue;
            knomial = knomial && is_tree(p, k, 0) && pl_knomial(0, p, k).span == p;
            flat = flat && deepest(p, k, 0) <= ceil_log(p, k);
        }
    CHECK(kary);
    CHECK(knomial);
    CHECK(flat);
}

static bool has_children(struct pl_tree tree, int count, const int *children)
{
    bool good = tree.children == count;
    for (int i = 0; good && i < count; i++)
        good = pl_child(&tree, i) == children[i];
    return good;
}

static void drawn_by_hand(void)
{
    CHECK(has_children(pl_knomial(0, 13, 2), 4, (const int[]){1, 2, 4, 8}));
    CHECK(has_children(pl_knomial(8, 13, 2), 3, (const int[]){9, 10, 12}));
    CHECK(pl_knomial(12, 13, 2).parent == 8 && pl_knomial(11, 13, 2).parent == 10);
    CHECK(has_children(pl_knomial(0, 13, 3), 5, (const int[]){1, 2, 3, 6, 9}));
    CHECK(has_children(pl_knomial(9, 13, 3), 3, (const int[]){10, 11, 12}));
    CHECK(has_children(pl_knomial(0, 5, 5), 4, (const int[]){1, 2, 3, 4}));
    CHECK(has_children(pl_kary(0, 8, 2), 2, (const int[]){1, 2}));
    CHECK(has_children(pl_kary(3, 8, 2), 1, (const int[]){7}));
    CHECK(has_children(pl_kary(6, 8, 1), 1, (const int[]){7}));
    CHECK(deepest(8, 0, 1) == 7);
    CHECK(deepest(8, 0, 2) == 3);
}

static void limits(void)
{
    CHECK(pl_knomial(0, 5, INT_MAX).children == 4);
    CHECK(pl_kary(3, 5, INT_MAX).children == 0);
    CHECK(pl_knomial(1 << 30, INT_MAX, 2).span == (1 << 30) - 1);
    bool good = true;
    for (int root = 0; root < 5; root++)
        for (int rank = 0; rank < 5; rank++)
            good = good && pl_from_root(rank, root, 5) == (rank - root + 5) % 5 &&
                   pl_to_rank(pl_from_root(rank, root, 5), root, 5) == rank;
    CHECK(good);
}

int main(void)
{
    all_sizes();
    drawn_by_hand();
    limits();
    return check_done();
}
