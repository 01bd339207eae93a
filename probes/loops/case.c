/* Cases: FUNCTION:BYTES[:TYPE[:OP]] becomes the arguments of one MPI call.
 *
 * BYTES is the volume n of docs/plan-and-records.md: the vector of one process (Bcast, Reduce,
 * Allreduce, Scan, Exscan), the p blocks together (Gather, Scatter, Allgather, Alltoall,
 * Reduce_scatter_block), or n split as evenly as p allows (their sisters with a v, Reduce_scatter);
 * rounded up to whole elements and blocks. */
#include "loops/loops.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum shape { NOTHING, VECTOR, BLOCKS, PARTS };

struct pl_loop_function {
    const char *name;
    enum shape shape;
    bool reduces;
    int (*make)(const struct pl_loop_call *call);
};

#define CALL(function, ...)                                                                        \
    static int function(const struct pl_loop_call *a)                                              \
    {                                                                                              \
        (void)a;                                                                                   \
        return MPI_##function(__VA_ARGS__, MPI_COMM_WORLD);                                        \
    }

static int Barrier(const struct pl_loop_call *a)
{
    (void)a;
    return MPI_Barrier(MPI_COMM_WORLD);
}

CALL(Bcast, a->recv, a->count, a->type, a->root)
CALL(Gather, a->send, a->count, a->type, a->recv, a->count, a->type, a->root)
CALL(Gatherv, a->send, a->count, a->type, a->recv, a->counts, a->displs, a->type, a->root)
CALL(Scatter, a->send, a->count, a->type, a->recv, a->count, a->type, a->root)
CALL(Scatterv, a->send, a->counts, a->displs, a->type, a->recv, a->count, a->type, a->root)
CALL(Allgather, a->send, a->count, a->type, a->recv, a->count, a->type)
CALL(Allgatherv, a->send, a->count, a->type, a->recv, a->counts, a->displs, a->type)
CALL(Alltoall, a->send, a->count, a->type, a->recv, a->count, a->type)
CALL(Alltoallv, a->send, a->counts, a->displs, a->type, a->recv, a->same, a->same_displs, a->type)
CALL(Reduce, a->send, a->recv, a->count, a->type, a->op, a->root)
CALL(Allreduce, a->send, a->recv, a->count, a->type, a->op)
CALL(Reduce_scatter, a->send, a->recv, a->counts, a->type, a->op)
CALL(Reduce_scatter_block, a->send, a->recv, a->count, a->type, a->op)
CALL(Scan, a->send, a->recv, a->count, a->type, a->op)
CALL(Exscan, a->send, a->recv, a->count, a->type, a->op)

static const struct pl_loop_function functions[] = {
    {"MPI_Barrier", NOTHING, false, Barrier},
    {"MPI_Bcast", VECTOR, false, Bcast},
    {"MPI_Gather", BLOCKS, false, Gather},
    {"MPI_Gatherv", PARTS, false, Gatherv},
    {"MPI_Scatter", BLOCKS, false, Scatter},
    {"MPI_Scatterv", PARTS, false, Scatterv},
    {"MPI_Allgather", BLOCKS, false, Allgather},
    {"MPI_Allgatherv", PARTS, false, Allgatherv},
    {"MPI_Alltoall", BLOCKS, false, Alltoall},
    {"MPI_Alltoallv", PARTS, false, Alltoallv},
    {"MPI_Reduce", VECTOR, true, Reduce},
    {"MPI_Allreduce", VECTOR, true, Allreduce},
    {"MPI_Reduce_scatter", PARTS, true, Reduce_scatter},
    {"MPI_Reduce_scatter_block", BLOCKS, true, Reduce_scatter_block},
    {"MPI_Scan", VECTOR, true, Scan},
    {"MPI_Exscan", VECTOR, true, Exscan},
};

enum number { A_BYTE, A_CHAR, AN_INT, A_FLOAT, A_DOUBLE };

static const struct {
    const char *name;
    int bytes;
} types[] = {
    [A_BYTE] = {"MPI_BYTE", 1},
    [A_CHAR] = {"MPI_CHAR", 1},
    [AN_INT] = {"MPI_INT", sizeof(int)},
    [A_FLOAT] = {"MPI_FLOAT", sizeof(float)},
    [A_DOUBLE] = {"MPI_DOUBLE", sizeof(double)},
};

enum reduction { SUM, MAX, BOR };

static const char *const ops[] = {[SUM] = "MPI_SUM", [MAX] = "MPI_MAX", [BOR] = "MPI_BOR"};

enum { FUNCTIONS = sizeof functions / sizeof *functions };
enum { TYPES = sizeof types / sizeof *types, OPS = sizeof ops / sizeof *ops };

static MPI_Datatype handle_of_type(int type)
{
    switch ((enum number)type) {
    case A_BYTE:
        return MPI_BYTE;
    case A_CHAR:
        return MPI_CHAR;
    case AN_INT:
        return MPI_INT;
    case A_FLOAT:
        return MPI_FLOAT;
    case A_DOUBLE:
        return MPI_DOUBLE;
    }
    return MPI_DATATYPE_NULL;
}

static MPI_Op handle_of_op(int op)
{
    switch ((enum reduction)op) {
    case SUM:
        return MPI_SUM;
    case MAX:
        return MPI_MAX;
    case BOR:
        return MPI_BOR;
    }
    return MPI_OP_NULL;
}

/* Bytes have bits alone, floating numbers have none. MPI_CHAR is reduced as OSU's programs do it.
 */
static bool defined_on(int op, int type)
{
    if (type == A_BYTE)
        return op == BOR;
    return op != BOR || type == AN_INT || type == A_CHAR;
}

static int nprocs_of_world(void)
{
    int nprocs;
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    return nprocs;
}

static const char *parse_names(char *type, char *op, struct pl_loop_case *c)
{
    c->type = type ? -1 : A_BYTE;
    for (int i = 0; type && i < TYPES; i++)
        if (strcmp(types[i].name, type) == 0)
            c->type = i;
    if (c->type < 0)
        return "no such type (MPI_BYTE, MPI_CHAR, MPI_INT, MPI_FLOAT, MPI_DOUBLE)";
    c->op = -1;
    if (!c->function->reduces)
        return op ? "this function has no operator" : NULL;
    if (!op)
        c->op = c->type == A_BYTE ? BOR : SUM;
    for (int i = 0; op && i < OPS; i++)
        if (strcmp(ops[i], op) == 0)
            c->op = i;
    if (c->op < 0)
        return "no such operator (MPI_SUM, MPI_MAX, MPI_BOR)";
    return defined_on(c->op, c->type) ? NULL : "the operator is not defined on the type";
}

static const char *parse_bytes(const char *text, int nprocs, struct pl_loop_case *c)
{
    char *end;
    errno = 0;
    c->bytes = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return "bytes must be a whole number";
    if (c->function->shape == NOTHING)
        return c->bytes ? "MPI_Barrier has the size 0" : NULL;
    long long size = types[c->type].bytes;
    c->elements = c->bytes / size + (c->bytes % size != 0);
    if (c->function->shape == BLOCKS)
        c->elements = (c->elements / nprocs + (c->elements % nprocs != 0)) * nprocs;
    c->moved = c->elements * size;
    /* Room for what MPI_Alltoallv receives, too. */
    return c->moved > INT_MAX - 8LL * nprocs ? "more than 2 GiB" : NULL;
}

const char *pl_loop_parse(const char *text, int nprocs, struct pl_loop_case *c)
{
    char copy[128], *part[5] = {copy};
    int parts = 1;

    *c = (struct pl_loop_case){.text = text};
    if (strlen(text) >= sizeof copy)
        return "too long";
    strcpy(copy, text);
    for (char *at = copy; *at; at++) {
        if (*at != ':')
            continue;
        if (parts == 4)
            return "a case is FUNCTION:BYTES[:TYPE[:OP]]";
        *at = '\0';
        part[parts++] = at + 1;
    }
    if (parts < 2)
        return "a case is FUNCTION:BYTES[:TYPE[:OP]]";
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, part[0]) == 0)
            c->function = &functions[i];
    if (!c->function)
        return "no such function (--help lists them)";
    const char *wrong = parse_names(part[2], part[3], c);
    return wrong ? wrong : parse_bytes(part[1], nprocs, c);
}

/* Touched, on pages of its own. */
static void *buffer(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), bytes) != 0)
        return NULL;
    return memset(memory, 0, bytes);
}

bool pl_loop_buffers(const struct pl_loop_case *cases, int count, struct pl_loop_call *call)
{
    const int nprocs = nprocs_of_world();
    size_t most = 0;
    for (int i = 0; i < count; i++)
        if ((size_t)cases[i].moved > most)
            most = (size_t)cases[i].moved;
    most += 8 * (size_t)nprocs;
    *call = (struct pl_loop_call){.send = buffer(most), .recv = buffer(most)};
    call->counts = calloc(4 * (size_t)nprocs, sizeof *call->counts);
    int good = call->send && call->recv && call->counts;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (call->counts) {
        call->displs = call->counts + nprocs;
        call->same = call->displs + nprocs;
        call->same_displs = call->same + nprocs;
    }
    return good;
}

void pl_loop_free(struct pl_loop_call *call)
{
    free(call->send);
    free(call->recv);
    free(call->counts);
}

/* Ones: their sums stay small, whatever the type. */
static void fill(void *buffer, long long elements, int type)
{
    for (long long i = 0; i < elements; i++) {
        switch ((enum number)type) {
        case A_BYTE:
        case A_CHAR:
            ((char *)buffer)[i] = 1;
            break;
        case AN_INT:
            ((int *)buffer)[i] = 1;
            break;
        case A_FLOAT:
            ((float *)buffer)[i] = 1;
            break;
        case A_DOUBLE:
            ((double *)buffer)[i] = 1;
        }
    }
}

void pl_loop_prepare(const struct pl_loop_case *c, struct pl_loop_call *call)
{
    const int nprocs = nprocs_of_world();
    int rank, each = (int)(c->elements / nprocs), rest = (int)(c->elements % nprocs);

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < nprocs; i++) {
        call->counts[i] = each + (i < rest);
        call->displs[i] = each * i + (i < rest ? i : rest);
        call->same[i] = each + (rank < rest);
        call->same_displs[i] = i * call->same[i];
    }
    call->count = c->function->shape == VECTOR ? (int)c->elements : call->counts[rank];
    call->type = handle_of_type(c->type);
    call->op = handle_of_op(c->op);
    fill(call->send, c->elements, c->type);
    fill(call->recv, c->elements, c->type);
}

void pl_loop_make(const struct pl_loop_case *c, const struct pl_loop_call *call)
{
    c->function->make(call); /* an error ends the program: MPI_ERRORS_ARE_FATAL */
}

void pl_loop_names(void)
{
    printf("Functions:");
    for (int i = 0; i < FUNCTIONS; i++)
        printf(" %s", functions[i].name);
    printf("\nTypes:");
    for (int i = 0; i < TYPES; i++)
        printf(" %s", types[i].name);
    printf("\nOperators:");
    for (int i = 0; i < OPS; i++)
        printf(" %s", ops[i]);
    printf("\n");
}
