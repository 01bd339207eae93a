/* Allgather(v) and Alltoall(v, w) by one message from everyone to everyone, in the datatypes of the
 * call. Alltoallw alone leaves out empty messages: its blocks of many datatypes are mostly few. */
#ifndef PL_EVERYONE_H
#define PL_EVERYONE_H

#include "tools.h"

/* What this rank receives from `other` (the rank, or the place among the neighbours), and what it
 * sends to it. Not for an Alltoall(v, w) in place, whose blocks to send are where others arrive.
 * The field `bytes` is not set. */
struct pl_block pl_from(const struct pl_call *call, int other);
struct pl_block pl_to(const struct pl_call *call, int other);

/* The own block from place to place; nothing with MPI_IN_PLACE. */
int pl_keep_own(const struct pl_call *call, MPI_Comm peers, int rank);

/* MPI_Irecv and MPI_Isend for every other rank, the next one first, then MPI_Waitall. Naive: in
 * order of rank, and to oneself too. Alltoall in place: n bytes in PL_SLOT_SEND; Alltoallv and
 * Alltoallw cannot. */
int pl_everyone_at_once(const struct pl_call *call);
int pl_everyone_in_a_window(const struct pl_call *call); /* the parameter says how many */
int pl_everyone_naive(const struct pl_call *call);
/* p - 1 steps of MPI_Sendrecv, each with another pair of ranks; no scratch. Not for Allgather(v) in
 * place. */
int pl_everyone_pairwise(const struct pl_call *call);

/* Alltoall that packs what goes to the ranks of one node (by_nodes.c). The parameter is how many
 * ranks of each node do so; each takes care of at most PL_GROUP_MOST. */
enum { PL_GROUP_MOST = 8 };
int pl_alltoall_by_nodes(const struct pl_call *call);

#endif
