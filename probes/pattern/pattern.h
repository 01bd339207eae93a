/* Patterns: how operations are measured that are no single collective call (Reussner and
 * Hunzelmann, Achieving Performance Portability with SKaMPI, 2001, section 4). What is measured the
 * same way can be compared: two ranks and a message that goes there and back (`point_to_point`;
 * with gaps in the data: `vector`, `struct`) or two messages at the same time (`exchange`), a root
 * that hands out work and takes results (`master_worker`), ranks that exchange blocks with their
 * neighbours (`neighbourhood`), calls without a message (`simple`). The last pattern, `collective`,
 * is every other case.
 *
 * A case names the pattern in place of a function, and the operation in place of a variant:
 * `default` is the first one of its pattern. Operations of a pattern share a file or two;
 * operations.def lists them. */
#ifndef PL_PATTERN_H
#define PL_PATTERN_H

#include "measure/shape.h"
#include "plan.h"

struct pl_arguments;
struct pl_buffers;

/* What a rank has in its receive buffer when an operation is through. */
enum pl_landing {
    PL_LANDS_NOTHING,
    PL_LANDS_ECHO,        /* on the root and its partner: what the root has sent */
    PL_LANDS_SWAPPED,     /* on both: what the other has sent */
    PL_LANDS_SAME_BLOCKS, /* of each neighbour the block that it sends to all of them */
    PL_LANDS_OWN_BLOCKS,  /* of each neighbour the block that it has for this rank */
    PL_LANDS_SLOTS, /* on the root as many as there are others, on each of these one: the root's */
};

struct pl_operation {
    const char *name; /* lower_snake, its own in all patterns */
    const struct pl_pattern *pattern;
    const char *summary;
    enum pl_landing landing;
    /* One repetition, on every rank of call->comm. */
    int (*run)(const struct pl_call *call);
    /* Before the first repetition and after the last one; either may be NULL. */
    int (*begin)(const struct pl_call *call);
    void (*end)(void);
    /* After each repetition, outside its timed region; may be NULL. Collective. */
    void (*after)(void);
};

struct pl_pattern {
    const char *name;
    const char *summary;
    int least_ranks;
    bool has_root;
};

extern const struct pl_pattern pl_pattern_point_to_point, pl_pattern_exchange, pl_pattern_vector,
    pl_pattern_struct, pl_pattern_master_worker, pl_pattern_neighbourhood, pl_pattern_simple;

extern const struct pl_pattern *const pl_patterns[];
extern const int pl_pattern_count;
extern const struct pl_operation *const pl_operations[];
extern const int pl_operation_count;

/* Its first one where `name` is `default`; NULL when it has none of this name. */
const struct pl_operation *pl_operation_of(const struct pl_pattern *pattern, const char *name);

/* The function of a case, or its pattern. */
const char *pl_case_function(const struct pl_case *c);
bool pl_case_has_root(const struct pl_case *c);
/* How large a case is on a rank among `nprocs`. */
struct pl_shape pl_case_shape(const struct pl_case *c, int nprocs, int rank);
/* Its counts fit the `int`s of MPI's interface; `nprocs` is 0 where it is not known. */
bool pl_pattern_fits(const struct pl_case *c, int nprocs);
/* The other rank of a message that the root sends. */
static inline int pl_partner(int root, int nprocs)
{
    return root == nprocs - 1 ? 0 : nprocs - 1;
}

/* Of a neighbourhood: how many neighbours a rank gets blocks from, and the one whose block is the
 * `block`-th. */
enum { PL_NEIGHBOURS = 2 };
static inline int pl_neighbour(int rank, int block, int nprocs)
{
    return (rank - 1 - block + 2 * nprocs) % nprocs;
}

/* What must be in the receive buffer of rank `rank`, to `result`. */
void pl_pattern_expect(const struct pl_arguments *arguments, const struct pl_case *c, int nprocs,
                       int rank, uint64_t seed, unsigned char *result);

/* The role of this rank in a call between two ranks. */
struct pl_pair_role {
    bool is_root, is_partner;
    int peer;
};

static inline struct pl_pair_role pl_role(const struct pl_call *call)
{
    int rank, nprocs;
    PMPI_Comm_rank(call->comm, &rank);
    PMPI_Comm_size(call->comm, &nprocs);
    int partner = pl_partner(call->root, nprocs);
    return (struct pl_pair_role){rank == call->root, rank == partner,
                                 rank == call->root ? partner : call->root};
}

enum { PL_PATTERN_TAG = 11 };

#endif
