/* What a variant is: one way to compute one MPI function.
 *
 * The same sources are compiled twice: for libplumbline.so, where PL_MPI(X) is PMPI_X, and for the
 * probe's static library, where it is MPI_X. The collectives that a mock-up is made of go by the
 * rules in both (inner.h). */
#ifndef PL_VARIANT_H
#define PL_VARIANT_H

#include "shapes.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef PL_PRELOAD
#define PL_MPI(name) PMPI_##name
#else
#define PL_MPI(name) MPI_##name
#endif

/* A variable of each thread, reached without a call. In a simulation each rank is a copy of the
 * program, with copies of its variables. */
#ifdef SMPI_H
#define PL_A_THREAD
#else
#define PL_A_THREAD _Thread_local __attribute__((tls_model("initial-exec")))
#endif

/* What is in a function of its own costs a call that does not get there no registers. */
#define PL_NOT_INLINE __attribute__((noinline))

enum pl_function {
#define PL_FUNCTION(symbol, name) PL_FN_##symbol,
#include "functions.def"
#undef PL_FUNCTION
    PL_FUNCTION_COUNT
};

/* "MPI_Bcast" for PL_FN_bcast. */
const char *pl_function_name(enum pl_function function);
/* The inverse; PL_FUNCTION_COUNT when unknown. */
enum pl_function pl_function_by_name(const char *name);
/* True where an operation is applied: one count, datatype and operation on all ranks. */
bool pl_reduces(enum pl_function function);
/* True for neighbourhood collectives (neighbors.h), which need a communicator with a topology. */
bool pl_has_neighbors(enum pl_function function);
/* False for functions that profiles can replace, but that the probe, the search and the suite of
 * the variants leave out: MPI_Alltoallw, and those with neighbours. */
bool pl_is_measured(enum pl_function function);

struct pl_kept;

/* The arguments of one call. Fields a function does not have are zero. Names follow the standard;
 * MPI_Bcast's buffer is `recvbuf` with recvcount and recvtype on every rank; the datatype of a
 * reduction is `recvtype`, its count `recvcount`; MPI_Reduce_local's inbuf is `sendbuf`, its
 * inoutbuf `recvbuf`; MPI_Reduce_scatter uses recvcounts. MPI_Alltoallw has tables of datatypes,
 * and its displacements are in bytes. */
struct pl_call {
    enum pl_function function;
    const void *sendbuf;
    void *recvbuf;
    int sendcount, recvcount;
    const int *sendcounts, *sdispls, *recvcounts, *rdispls;
    MPI_Datatype sendtype, recvtype;
    MPI_Op op;
    int root;
    MPI_Comm comm;
    /* What libplumbline.so knows already of comm; else 0 and NULL. */
    long long volume; /* pl_volume */
    struct pl_kept *kept;
    const int *values;    /* of the running variant's parameters, in the order of its table */
    const void *messages; /* of a replay, which is no collective (probes/measure/replay.h) */
    const struct pl_call *outer; /* the call whose variant makes this one (inner.h) */
    size_t scratch;              /* in libplumbline.so: the bound of the running variant */
    const MPI_Datatype *sendtypes, *recvtypes; /* of MPI_Alltoallw */
};

/* What a call begins as. A copy of it is made faster than zeros in the place of unnamed fields. */
extern const struct pl_call pl_no_call;

/* Calls that may be around each other, each with memory of its own on the communicator. */
enum { PL_DEPTH = 4 };

/* Communication volume n of a call in bytes, as the guidelines count it (Hunold et al., Euro-Par
 * 2016, section 2). Uses only arguments that are significant on this rank, and gives the same
 * number on every rank.
 * PL_NO_VOLUME on inter-communicators, for calls that are not legal, for reductions of elements of
 * size 0, and past INT_MAX - p bytes or elements; PL_LOCAL_VOLUME where no rank, or only some,
 * could tell (Gatherv, Scatterv, Alltoallv, Alltoallw, neighbours). See volume.c for each function.
 */
enum { PL_NO_VOLUME = -1, PL_LOCAL_VOLUME = -2 };
long long pl_volume_found(const struct pl_call *call);
static inline long long pl_volume(const struct pl_call *call)
{
    return call->volume > 0 ? call->volume : pl_volume_found(call);
}
/* The same, with the number of processes (1 for MPI_Reduce_local) unless it is PL_NO_VOLUME. */
long long pl_volume_and_size(const struct pl_call *call, int *size);
/* The same on an intra-communicator of p processes; `rank` is read by functions with a root. */
long long pl_volume_on(const struct pl_call *call, int p, int rank);

/* Bytes of an element of the commonest types, of which the standard says enough; else 0. One
 * comparison after the other: the first that holds ends it. */
static inline int pl_common_size(MPI_Datatype type)
{
#define PL_IS(common) __builtin_expect(type == (common), 1)
    if (PL_IS(MPI_BYTE))
        return 1;
    if (PL_IS(MPI_DOUBLE))
        return sizeof(double);
    if (PL_IS(MPI_INT))
        return sizeof(int);
    if (PL_IS(MPI_FLOAT))
        return sizeof(float);
    return PL_IS(MPI_CHAR) ? 1 : 0;
#undef PL_IS
}

enum pl_kind { PL_DEFAULT, PL_MOCKUP, PL_ALGORITHM, PL_NAIVE };

/* What a variant cannot do. The caller falls back to the library before any message is sent. */
enum pl_restriction {
    PL_ANY = 0,
    PL_COMMUTATIVE = 1,  /* may change the order of operands */
    PL_NO_IN_PLACE = 2,  /* MPI_IN_PLACE on any rank */
    PL_CONTIGUOUS = 4,   /* only types whose size equals their extent, lower bound 0 */
    PL_BUILTIN_TYPE = 8, /* only predefined datatypes */
    PL_NOT_COUNTED = 16, /* stops every variant: PL_NO_VOLUME, or the call is not legal */
    /* only MPI's own operations, which all commute: hands an operation other elements at once than
     * the program passed, which are more (padding) or part of a vector (in Reduce_scatter and
     * Reduce_scatter_block: of a block) */
    PL_BUILTIN_OP = 32,
    PL_ONE_NODE = 64, /* all ranks are on one node and can share memory (shared.h) */
};

/* A number that a variant reads: a segment size, a radix, a fan-out. */
struct pl_parameter {
    const char *name; /* lower_snake, with its unit: segment_bytes, radix, pieces */
    int least, most;  /* what is legal */
    int standard;     /* when nothing is said */
    int tries[8];     /* what is worth a search, ascending, 0 ends it */
    const char *summary;
};
#define PL_PARAMETERS_MAX 2

/* A volume for each rank, and one more. */
enum { PL_VOLUME_EACH = -1 };

struct pl_variant {
    const char *name; /* function_what, lower_snake, never reused */
    enum pl_function function;
    enum pl_kind kind;
    unsigned restrictions; /* of enum pl_restriction */
    const char *summary;   /* one sentence for people, with its source */
    /* Scratch memory this variant keeps on any rank at most, in volumes n of the call (reductions:
     * in vectors, with gaps); 0: none but a few words a rank; PL_VOLUME_EACH: p + 1. See
     * pl_scratch_bound. */
    int scratch_volumes;
    /* Scratch memory that does not depend on the volume, beside that: in all, and for each rank of
     * the communicator. */
    int scratch_bytes, scratch_rank_bytes;
    /* On fewer ranks it passes the messages of a simpler variant, and searches do not try it; 0: on
     * any number. */
    int least_ranks;
    /* Those with a name; without, the standard value is a constant of a body that several share. */
    struct pl_parameter parameters[PL_PARAMETERS_MAX];
    /* Collective over call->comm. Returns MPI_SUCCESS or an error, which the error handler of
     * call->comm has been given, or PL_LEFT. Call it only without obstacles, and with call->values
     * where it has parameters. */
    int (*run)(const struct pl_call *call);
};

/* The descriptor at the end of a variant's file: PL_DESCRIBE(kind, function without MPI_, name,
 * run, summary, and what else of the fields above is not zero). */
#define PL_DESCRIBE(what, symbol, full_name, body, ...)                                            \
    const struct pl_variant pl_##full_name = {.name = #full_name,                                  \
                                              .function = PL_FN_##symbol,                          \
                                              .kind = what,                                        \
                                              .run = body,                                         \
                                              .summary = __VA_ARGS__}

/* On all ranks alike: nothing was done, since the private communicators have a limit
 * (pl_private_limit), or memory cannot be shared; the call is left to the library. */
enum { PL_LEFT = -1 };

/* False where not all ranks know the volume of a call: Gatherv, Scatterv, Alltoallv, Alltoallw, and
 * neighbourhood collectives. */
bool pl_has_volume(enum pl_function function);
/* True if all ranks can know that the variant stays within a bound of memory, so that a profile may
 * name it. */
bool pl_deployable(const struct pl_variant *variant);

/* A variant with values for its parameters; as text `name` or `name:parameter=value,…`, which may
 * leave out what has its standard value. */
struct pl_spec {
    const struct pl_variant *variant;
    int values[PL_PARAMETERS_MAX];
};

/* False: `why` (of `size` bytes) says what is wrong with the text. */
bool pl_spec_parse(const char *text, struct pl_spec *spec, char *why, size_t size);
/* A variant with the standard values. */
struct pl_spec pl_spec_of(const struct pl_variant *variant);
int pl_spec_run(const struct pl_spec *spec, const struct pl_call *call);

/* All variants of catalogue.def (the library's own calls, `default`, are not among them). */
extern const struct pl_variant *const pl_catalogue[];
extern const int pl_catalogue_size;
const struct pl_variant *pl_variant_by_name(const char *name); /* NULL when unknown */

/* The library's own function through PMPI_, past libplumbline.so (next.h), or through MPI_, with
 * the arguments of a call. */
int pl_call_pmpi(const struct pl_call *call);
int pl_call_next(const struct pl_call *call);
int pl_call_mpi(const struct pl_call *call);

/* MPI's own operations for reductions; all of them commute. */
enum pl_own_op {
    PL_SUM,
    PL_PROD,
    PL_MIN,
    PL_MAX,
    PL_LAND,
    PL_LOR,
    PL_LXOR,
    PL_BAND,
    PL_BOR,
    PL_BXOR,
    PL_MINLOC,
    PL_MAXLOC,
    PL_OWN_OPS
};
/* PL_OWN_OPS for any other. */
enum pl_own_op pl_own_op(MPI_Op op);

/* What the library has said yes to, of predefined datatypes that have a size: the same for ever. */
struct pl_known {
    MPI_Op op; /* or MPI_OP_NULL */
    MPI_Datatype type;
    MPI_Aint extent; /* 0: nothing is known from here on */
};
enum { PL_KNOWN = 16 };
extern PL_A_THREAD struct pl_known pl_known[PL_KNOWN];

/* NULL: not known. */
static inline const struct pl_known *pl_find_known(MPI_Op op, MPI_Datatype type)
{
    for (int i = 0; i < PL_KNOWN && pl_known[i].extent > 0; i++)
        if (pl_known[i].type == type && pl_known[i].op == op)
            return &pl_known[i];
    return NULL;
}

/* Asks the library, and remembers what will hold (accepted.c). */
bool pl_ask(MPI_Op op, MPI_Datatype type);

/* True if the library takes this operation on this datatype; with MPI_OP_NULL, if it takes the
 * datatype, which it does not if that is not committed. */
static inline bool pl_accepts(MPI_Op op, MPI_Datatype type)
{
    return pl_find_known(op, type) || pl_ask(op, type);
}

/* True if the library lets an empty block of Alltoallw have this datatype, which it does not take
 * otherwise (MPICH: MPI_DATATYPE_NULL and all that are not committed). */
bool pl_bears_unsent(MPI_Datatype type);

/* True if the library lets an Exscan send from where it receives, which is never legal. */
bool pl_bears_alias_in_exscan(void);
/* Before MPI_Finalize: gives back what the questions took. Nothing is accepted any more. */
void pl_accept_no_more(void);

/* Restrictions that this call would break (0: the variant may run). Equal on all ranks for what the
 * standard makes equal (op, signature); MPI_IN_PLACE is looked at on this rank. Collective the
 * first time that a variant with PL_ONE_NODE is asked about on a communicator. */
unsigned pl_variant_obstacles(const struct pl_variant *variant, const struct pl_call *call);

/* The same for a variant of this very function and a call that has a volume; nobody is asked about
 * PL_ONE_NODE: where it is broken the variant itself returns PL_LEFT. */
unsigned pl_counted_obstacles(const struct pl_variant *variant, const struct pl_call *call);

/* Scratch memory of at least `bytes` bytes, 64-byte aligned, kept on the communicator as an
 * attribute and freed with it. `slot` (0..PL_SCRATCH_SLOTS-1) tells apart blocks that live at the
 * same time. Grows, never shrinks. NULL when memory is short. */
#define PL_SCRATCH_SLOTS 7
void *pl_scratch(MPI_Comm comm, int slot, size_t bytes);

/* Bytes that all slots of comm hold, and what gives them back (between calls only). */
size_t pl_scratch_kept(MPI_Comm comm);
void pl_scratch_release(MPI_Comm comm);

/* The most that the communicators of this process hold together; without it there is no limit. What
 * would be more makes those give back theirs that were called least recently, and are not in a call
 * of another thread. `threads`: calls may come at the same time. */
void pl_scratch_limit(size_t most, bool threads);
size_t pl_scratch_held(void);

/* The most private communicators (tools.h) that this process makes, and how many it has. */
void pl_private_limit(int most);
int pl_private_made(void);

/* Frees all that is kept on comm, its private communicator too; collective. For MPI_COMM_WORLD,
 * which nobody frees. */
void pl_kept_forget(MPI_Comm comm);

/* What the variant may keep at most in one call of `volume` bytes on p processes; equal on all
 * ranks. Not for PL_LOCAL_VOLUME. */
size_t pl_scratch_bound(const struct pl_variant *variant, const struct pl_call *call,
                        long long volume, int p);

/* Jump to the label `out` when an MPI call fails; needs an `int rc` in scope. */
#define PL_TRY(call)                                                                               \
    do {                                                                                           \
        rc = (call);                                                                               \
        if (rc != MPI_SUCCESS)                                                                     \
            goto out;                                                                              \
    } while (0)

#endif
