/* Legal programs that a rules file can break. Each argument is one of them; a rank that gets wrong
 * data says so, and rank 0 says when all are over. An error ends the program, as by default.
 *
 * scatter           ranks other than the root do not know the send arguments
 * gather            the root's own block is in place, and it passes no send arguments
 * gather_unequal    ranks send the same bytes as chars or as ints: no hazard, sizes are equal
 * allgather         in place; the send arguments, which do not count, differ between ranks
 * alltoall          the same
 * allreduce, reduce, reduce_scatter, reduce_scatter_block
 *                   an operation that does not commute: the composition of affine maps, 8 bytes
 * each; reduce:512 is of so many
 * seconds=3         from here on a rank that is not done after so long says so, and all end */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1024, MAPS = 4096 };

typedef struct {
    uint32_t factor, term;
} map;

static int rank, p;
static const char *name;

static void hangs(int number)
{
    static const char said[] = "hang\n";
    (void)number;
    _exit(write(STDOUT_FILENO, said, sizeof said - 1) < 0 ? 4 : 3);
}

static void judge(int right)
{
    if (!right)
        printf("wrong %s %d\n", name, rank);
}

static unsigned char block_byte(int from, int to, int i)
{
    return (unsigned char)(from * 31 + to * 7 + i + 1);
}

static int is_block(const unsigned char *bytes, int from, int to)
{
    for (int i = 0; i < BLOCK; i++)
        if (bytes[i] != block_byte(from, to, i))
            return 0;
    return 1;
}

static void fill(unsigned char *bytes, int from, int to)
{
    for (int i = 0; i < BLOCK; i++)
        bytes[i] = block_byte(from, to, i);
}

static void scatter(unsigned char *all, unsigned char *one)
{
    for (int to = 0; to < p && rank == 0; to++)
        fill(all + to * BLOCK, 0, to);
    MPI_Scatter(rank ? NULL : all, rank ? 0 : BLOCK, MPI_BYTE, one, BLOCK, MPI_BYTE, 0,
                MPI_COMM_WORLD);
    judge(is_block(one, 0, rank));
}

static void gather(unsigned char *all, unsigned char *one)
{
    fill(rank ? one : all, rank, 0);
    if (rank)
        MPI_Gather(one, BLOCK, MPI_BYTE, NULL, 0, MPI_BYTE, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(MPI_IN_PLACE, 0, MPI_BYTE, all, BLOCK, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int from = 0; from < p && rank == 0; from++)
        judge(is_block(all + from * BLOCK, from, 0));
}

static void gather_unequal(unsigned char *all, unsigned char *one)
{
    fill(one, rank, 0);
    MPI_Datatype type;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    if (rank % 2)
        MPI_Gather(one, 1, type, all, BLOCK, MPI_BYTE, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(one, BLOCK, MPI_BYTE, all, BLOCK, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    for (int from = 0; from < p && rank == 0; from++)
        judge(is_block(all + from * BLOCK, from, 0));
}

static void allgather(unsigned char *all)
{
    fill(all + rank * BLOCK, rank, 0);
    MPI_Allgather(MPI_IN_PLACE, rank % 2 ? BLOCK : 0, MPI_BYTE, all, BLOCK, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int from = 0; from < p; from++)
        judge(is_block(all + from * BLOCK, from, 0));
}

static void alltoall(unsigned char *all)
{
    for (int to = 0; to < p; to++)
        fill(all + to * BLOCK, rank, to);
    MPI_Alltoall(MPI_IN_PLACE, rank % 2 ? BLOCK : 0, MPI_BYTE, all, BLOCK, MPI_BYTE,
                 MPI_COMM_WORLD);
    for (int from = 0; from < p; from++)
        judge(is_block(all + from * BLOCK, from, rank));
}

/* left after right: an operation that is associative and does not commute */
static map after(map left, map right)
{
    map both = {left.factor * right.factor, left.factor * right.term + left.term};
    return both;
}

static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    map *left = in, *right = inout;
    for (int i = 0; i < *length; i++)
        right[i] = after(left[i], right[i]);
}

static map of(int r, int i)
{
    map one = {(uint32_t)(2 * r + 3 + i % 5), (uint32_t)(r * 17 + i)};
    return one;
}

static int is_result(const map *found, int first, int count)
{
    for (int i = 0; i < count; i++) {
        map expected = of(0, first + i);
        for (int r = 1; r < p; r++)
            expected = after(expected, of(r, first + i));
        if (found[i].factor != expected.factor || found[i].term != expected.term)
            return 0;
    }
    return 1;
}

static void reduction(void)
{
    const char *colon = strchr(name, ':');
    const size_t length = colon ? (size_t)(colon - name) : strlen(name);
    const int maps = colon ? atoi(colon + 1) : MAPS;
    map *sent = malloc((size_t)maps * sizeof *sent), *found = malloc((size_t)maps * sizeof *found);
    int *counts = malloc((size_t)p * sizeof *counts);
    if (!sent || !found || !counts)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_UINT32_T, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose, 0, &op);
    const int part = maps / p;
    for (int i = 0; i < maps; i++)
        sent[i] = of(rank, i);
    for (int r = 0; r < p; r++)
        counts[r] = part;
    if (!strncmp(name, "allreduce", length)) {
        MPI_Allreduce(sent, found, maps, type, op, MPI_COMM_WORLD);
        judge(is_result(found, 0, maps));
    } else if (!strncmp(name, "reduce", length)) {
        MPI_Reduce(sent, found, maps, type, op, 0, MPI_COMM_WORLD);
        judge(rank || is_result(found, 0, maps));
    } else if (!strncmp(name, "reduce_scatter", length)) {
        MPI_Reduce_scatter(sent, found, counts, type, op, MPI_COMM_WORLD);
        judge(is_result(found, rank * part, part));
    } else if (!strncmp(name, "reduce_scatter_block", length)) {
        MPI_Reduce_scatter_block(sent, found, part, type, op, MPI_COMM_WORLD);
        judge(is_result(found, rank * part, part));
    } else {
        fprintf(stderr, "hazards: no hazard %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    free(sent);
    free(found);
    free(counts);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    unsigned char *all = calloc((size_t)p, BLOCK), *one = calloc(1, BLOCK);
    if (!all || !one)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 1; i < argc; i++) {
        name = argv[i];
        memset(all, 0, (size_t)p * BLOCK);
        memset(one, 0, BLOCK);
        if (!strncmp(name, "seconds=", 8)) {
            MPI_Barrier(MPI_COMM_WORLD);
            signal(SIGALRM, hangs);
            alarm((unsigned)atoi(name + 8));
        } else if (!strcmp(name, "scatter"))
            scatter(all, one);
        else if (!strcmp(name, "gather"))
            gather(all, one);
        else if (!strcmp(name, "gather_unequal"))
            gather_unequal(all, one);
        else if (!strcmp(name, "allgather"))
            allgather(all);
        else if (!strcmp(name, "alltoall"))
            alltoall(all);
        else
            reduction();
    }
    free(all);
    free(one);
    MPI_Finalize();
    if (rank == 0)
        printf("over\n");
    return 0;
}
