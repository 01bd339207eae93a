/* Operations of the user that must see what the program passed, no elements more and no fewer: a
 * product of matrices, which does not commute, and one that does. Prints "ok", or "not ok" and what
 * was wrong. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 3 };

struct matrix {
    unsigned a, b, c, d;
};

static int passed, strange; /* elements that the program passed; others that an operation saw */

static struct matrix product(struct matrix x, struct matrix y)
{
    return (struct matrix){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
                           x.c * y.b + x.d * y.d};
}

static struct matrix sum(struct matrix x, struct matrix y)
{
    return (struct matrix){x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d};
}

static void operate(void *in, void *inout, int count,
                    struct matrix (*of)(struct matrix, struct matrix))
{
    const struct matrix *x = in;
    struct matrix *y = inout;
    if (count != passed)
        strange = count;
    for (int i = 0; i < count; i++)
        y[i] = of(x[i], y[i]);
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    operate(in, inout, *count, product);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    operate(in, inout, *count, sum);
}

static struct matrix operand(int rank, int i)
{
    return (struct matrix){1, (unsigned)(rank + 2 * i), (unsigned)(rank % 2), 1};
}

/* Over the ranks from 0 to `last`. */
static int is_right(const struct matrix *result, int last,
                    struct matrix (*of)(struct matrix, struct matrix))
{
    int right = 1;
    for (int i = 0; i < passed; i++) {
        struct matrix expected = operand(0, i);
        for (int rank = 1; rank <= last; rank++)
            expected = of(expected, operand(rank, i));
        right = right && memcmp(&expected, &result[i], sizeof expected) == 0;
    }
    return right;
}

int main(int argc, char **argv)
{
    int rank, p, bad = 0, all = 0;
    MPI_Datatype type;
    MPI_Op ops[2];
    struct matrix (*const of[2])(struct matrix, struct matrix) = {product, sum};
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &p);
    MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &ops[0]);
    MPI_Op_create(add, 1, &ops[1]);
    for (passed = 1; passed <= MOST; passed += MOST - 1)
        for (int o = 0; o < 2; o++) {
            struct matrix mine[MOST], result[MOST];
            for (int i = 0; i < passed; i++)
                mine[i] = operand(rank, i);
            for (int root = 0; root < p; root++) {
                MPI_Reduce(mine, result, passed, type, ops[o], root, world);
                bad += rank == root && !is_right(result, p - 1, of[o]);
            }
            MPI_Allreduce(mine, result, passed, type, ops[o], world);
            bad += !is_right(result, p - 1, of[o]);
            MPI_Scan(mine, result, passed, type, ops[o], world);
            bad += !is_right(result, rank, of[o]);
            MPI_Exscan(mine, result, passed, type, ops[o], world);
            bad += rank > 0 && !is_right(result, rank - 1, of[o]);
        }
    const int here[2] = {bad, strange};
    int worst[2];
    MPI_Allreduce(here, worst, 2, MPI_INT, MPI_MAX, world);
    all = worst[0] || worst[1];
    if (rank == 0 && all)
        printf("not ok: %d results wrong on a rank, an operation saw %d elements\n", worst[0],
               worst[1]);
    else if (rank == 0)
        printf("ok\n");
    MPI_Op_free(&ops[0]);
    MPI_Op_free(&ops[1]);
    MPI_Type_free(&type);
    MPI_Finalize();
    return all;
}
