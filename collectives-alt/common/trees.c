/* Shapes of trees, by arithmetic alone. Powers are long long: radix * p does not fit an int. */
#include "trees.h"

struct pl_tree pl_knomial(int v, int p, int radix)
{
    struct pl_tree tree = {.parent = -1, .v = v, .p = p, .radix = radix};
    long long power = 1;
    for (; power < p && v % (power * radix) == 0; power *= radix)
        for (int digit = 1; digit < radix && v + digit * power < p; digit++)
            tree.children++;
    if (v > 0)
        tree.parent = (int)(v - v % (power * radix));
    tree.span = power < p - v ? (int)power : p - v;
    return tree;
}

struct pl_tree pl_kary(int v, int p, int fan_out)
{
    struct pl_tree tree = {.parent = -1, .v = v, .p = p, .fan_out = fan_out};
    const long long first = (long long)fan_out * v + 1;
    if (first < p)
        tree.children = first + fan_out <= p ? fan_out : (int)(p - first);
    if (v > 0)
        tree.parent = (v - 1) / fan_out;
    if (fan_out == 1)
        tree.span = p - v;
    return tree;
}

static long long power_of_child(const struct pl_tree *tree, int i)
{
    long long power = 1;
    for (; i >= tree->radix - 1; i -= tree->radix - 1)
        power *= tree->radix;
    return power;
}

int pl_child(const struct pl_tree *tree, int i)
{
    if (tree->fan_out > 0)
        return tree->fan_out * tree->v + 1 + i;
    return (int)(tree->v + (i % (tree->radix - 1) + 1) * power_of_child(tree, i));
}

int pl_child_span(const struct pl_tree *tree, int i)
{
    const int child = pl_child(tree, i);
    if (tree->fan_out > 0)
        return tree->fan_out == 1 ? tree->p - child : 0;
    const long long power = power_of_child(tree, i);
    return power < tree->p - child ? (int)power : tree->p - child;
}

int pl_from_root(int rank, int root, int p)
{
    return rank >= root ? rank - root : rank - root + p;
}

int pl_to_rank(int v, int root, int p)
{
    return v < p - root ? v + root : v + root - p;
}
