/* Cases: FUNCTION:BYTES[:TYPE[:OP]][:COUNTS] becomes the arguments of one MPI call.
 *
 * BYTES is the volume n of docs/plan-and-records.md: the vector of one process (Bcast, Reduce,
 * Allreduce, Scan, Exscan), the p blocks together (Gather, Scatter, Allgather, Alltoall,
 * Reduce_scatter_block), or n split as COUNTS says, else as evenly as p allows (their sisters with
 * a v, Reduce_scatter); rounded up to whole elements and blocks. */
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

/* X(function, shape, reduces, arguments…). */
#define WORLD MPI_COMM_WORLD
#define FUNCTIONS_OF_MPI(X)                                                                        \
    X(Barrier, NOTHING, false, WORLD)                                                              \
    X(Bcast, VECTOR, false, a->recv, a->count, a->type, a->root, WORLD)                            \
    X(Gather, BLOCKS, false, SENT, a->recv, a->count, a->type, a->root, WORLD)                     \
    X(Gatherv, PARTS, false, SENT, a->recv, a->counts, a->displs, a->type, a->root, WORLD)         \
    X(Scatter, BLOCKS, false, SENT, a->recv, a->count, a->type, a->root, WORLD)                    \
    X(Scatterv, PARTS, false, a->send, a->counts, a->displs, a->type, a->recv, a->count, a->type,  \
      a->root, WORLD)                                                                              \
    X(Allgather, BLOCKS, false, SENT, a->recv, a->count, a->type, WORLD)                           \
    X(Allgatherv, PARTS, false, SENT, a->recv, a->counts, a->displs, a->type, WORLD)               \
    X(Alltoall, BLOCKS, false, SENT, a->recv, a->count, a->type, WORLD)                            \
    X(Alltoallv, PARTS, false, a->send, a->counts, a->displs, a->type, a->recv, a->same,           \
      a->same_displs, a->type, WORLD)                                                              \
    X(Reduce, VECTOR, true, a->send, a->recv, a->count, a->type, a->op, a->root, WORLD)            \
    X(Allreduce, VECTOR, true, a->send, a->recv, a->count, a->type, a->op, WORLD)                  \
    X(Reduce_scatter, PARTS, true, a->send, a->recv, a->counts, a->type, a->op, WORLD)             \
    X(Reduce_scatter_block, BLOCKS, true, a->send, a->recv, a->count, a->type, a->op, WORLD)       \
    X(Scan, VECTOR, true, a->send, a->recv, a->count, a->type, a->op, WORLD)                       \
    X(Exscan, VECTOR, true, a->send, a->recv, a->count, a->type, a->op, WORLD)
#define SENT a->send, a->count, a->type

#define CALL(function, shape, reduces, ...)                                                        \
    static int function(const struct pl_loop_call *a)                                              \
    {                                                                                              \
        (void)a;                                                                                   \
        return MPI_##function(__VA_ARGS__);                                                        \
    }
FUNCTIONS_OF_MPI(CALL)

static const struct pl_loop_function functions[] = {
#define FUNCTION(function, shape, reduces, ...) {"MPI_" #function, shape, reduces, function},
    FUNCTIONS_OF_MPI(FUNCTION)};

#define NUMBERS(X)                                                                                 \
    X(A_BYTE, BYTE, char)                                                                          \
    X(A_CHAR, CHAR, char)                                                                          \
    X(AN_INT, INT, int)                                                                            \
    X(A_FLOAT, FLOAT, float)                                                                       \
    X(A_DOUBLE, DOUBLE, double)
#define REDUCTIONS(X) X(SUM) X(MAX) X(BOR)

enum number {
#define NUMBER(number, name, type) number,
    NUMBERS(NUMBER) TYPES
};
enum reduction {
#define REDUCTION(name) name,
    REDUCTIONS(REDUCTION) OPS
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };
enum counts { EQUAL, LINEAR, LAST, HALF, SHAPES };

static const char *const shapes[] = {"equal", "linear", "last", "half"};

static const struct {
    const char *name;
    int bytes;
} types[] = {
#define TYPE(number, name, type) {"MPI_" #name, sizeof(type)},
    NUMBERS(TYPE)};

static const char *const ops[] = {
#define OP(name) "MPI_" #name,
    REDUCTIONS(OP)};

static MPI_Datatype handle_of_type(int type)
{
#define IS_TYPE(number, name, type_in_c)                                                           \
    if (type == number)                                                                            \
        return MPI_##name;
    NUMBERS(IS_TYPE)
    return MPI_DATATYPE_NULL;
}

static MPI_Op handle_of_op(int op)
{
#define IS_OP(name)                                                                                \
    if (op == name)                                                                                \
        return MPI_##name;
    REDUCTIONS(IS_OP)
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

/* Where the part of a rank starts. */
static int start_of(enum counts counts, long long elements, int nprocs, int rank)
{
    long long parts = nprocs, part = rank;
    if (counts == LAST)
        return rank == nprocs ? (int)elements : 0;
    if (counts == LINEAR)
        return (int)((double)elements * rank * (rank + 1) / ((double)nprocs * (nprocs + 1)));
    if (counts == HALF) { /* every other rank has nothing */
        parts = (nprocs + 1) / 2;
        part = (rank + 1) / 2;
    }
    const long long rest = elements % parts;
    return (int)(elements / parts * part + (part < rest ? part : rest));
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
    c->moved = c->room = c->elements * size;
    if (c->moved > INT_MAX - 8LL * nprocs)
        return "more than 2 GiB";
    /* What MPI_Alltoallv receives is the own part of all ranks; the largest may be all of it. */
    if (c->counts != EQUAL && c->function->make == Alltoallv)
        c->room *= nprocs;
    return c->room > INT_MAX ? "more than 2 GiB" : NULL;
}

const char *pl_loop_parse(const char *text, int nprocs, struct pl_loop_case *c)
{
    char copy[128], *part[6] = {copy};
    static const char form[] = "a case is FUNCTION:BYTES[:TYPE[:OP]][:COUNTS]";
    int parts = 1;
    bool shaped = false;

    *c = (struct pl_loop_case){.text = text};
    if (strlen(text) >= sizeof copy)
        return "too long";
    strcpy(copy, text);
    for (char *at = copy; *at; at++) {
        if (*at != ':')
            continue;
        if (parts == 5)
            return form;
        *at = '\0';
        part[parts++] = at + 1;
    }
    if (parts > 2)
        for (int i = 0; i < SHAPES && !shaped; i++) {
            shaped = strcmp(shapes[i], part[parts - 1]) == 0;
            c->counts = shaped ? i : EQUAL;
        }
    if (shaped)
        part[--parts] = NULL;
    if (parts < 2 || parts > 4)
        return form;
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, part[0]) == 0)
            c->function = &functions[i];
    if (!c->function)
        return "no such function (--help lists them)";
    if (c->counts != EQUAL && c->function->shape != PARTS)
        return "this function has the same count for all ranks";
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
        if ((size_t)cases[i].room > most)
            most = (size_t)cases[i].room;
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
    for (long long i = 0; i < elements; i++)
        switch ((enum number)type) {
#define FILL(number, name, type_in_c)                                                              \
    case number:                                                                                   \
        ((type_in_c *)buffer)[i] = 1;                                                              \
        break;
            NUMBERS(FILL)
        case TYPES:
            break;
        }
}

void pl_loop_prepare(const struct pl_loop_case *c, struct pl_loop_call *call)
{
    const int nprocs = nprocs_of_world();
    const enum counts counts = (enum counts)c->counts;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < nprocs; i++) {
        call->displs[i] = start_of(counts, c->elements, nprocs, i);
        call->counts[i] = start_of(counts, c->elements, nprocs, i + 1) - call->displs[i];
    }
    for (int i = 0; i < nprocs; i++) {
        call->same[i] = call->counts[rank];
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
    printf("\nCounts:");
    for (int i = 0; i < SHAPES; i++)
        printf(" %s", shapes[i]);
    printf("\n");
}
