/* Gatherv and Scatterv that move short blocks in bundles. All ranks call a block long if it has
 * more bytes than a bundle may have: it goes between the root and its rank, in the datatypes of the
 * call. Only the root knows all counts; it works out which bundles there are. The other ranks find
 * out by themselves, each in the way of its tree, which bundles they pass on. */
#ifndef PL_BUNDLES_H
#define PL_BUNDLES_H

#include "rooted.h"

/* Short blocks in the order of their bytes in a message. Ranks are counted from the root. */
struct pl_bundle {
    int first, last; /* pl_bundles.next leads from one to the other */
    int bytes;
    int peer;  /* whom the root gets it from, or sends it to */
    int heads; /* numbers in front of the bytes, in a Scatterv */
    const int *head;
};

/* The root's view. */
struct pl_bundles {
    int p;
    int *next;                 /* by rank: the one after it in its bundle */
    struct pl_bundle *pending; /* by rank; for the algorithms */
    struct pl_bundle *made;    /* in the order in which the root meets them in a Gatherv */
    int count;
};

/* Bytes of a short block; 0 for a long one. */
int pl_short_bytes(const struct pl_portion *portion, int most);

/* At the root: each rank has a pending bundle of its own block alone. `most_made`: how many bundles
 * may be made. Uses PL_SLOT_AUX. */
int pl_bundles_begin(const struct pl_call *call, const struct pl_rooted *me, int most,
                     int most_made, struct pl_bundles *bundles);
/* Puts the blocks of `from`, which is empty then, behind those of `to`. */
void pl_bundle_append(struct pl_bundles *bundles, struct pl_bundle *to, struct pl_bundle *from);
/* The root and `peer` exchange the bundle; empty ones are dropped unless they are `sent`. */
void pl_bundle_make(struct pl_bundles *bundles, const struct pl_bundle *bundle, int peer,
                    bool sent);

/* What is left for the root when all bundles are made: messages with their peers, long blocks, the
 * own one. A Scatterv sends in the other order, so that what was made last goes first. Uses
 * PL_SLOT_RECV for a message at a time. */
int pl_bundles_exchange(const struct pl_call *call, const struct pl_rooted *me, int most, int tag,
                        const struct pl_bundles *bundles);

/* --- long blocks on the other ranks; PL_SLOT_REQUESTS is theirs --- */

struct pl_long {
    MPI_Request *requests;
    int open;
};
/* Opens the messages of all long blocks on this rank; waits for them. */
int pl_long_begin(const struct pl_call *call, const struct pl_rooted *me, int most,
                  struct pl_long *blocks);
int pl_long_end(const struct pl_call *call, struct pl_long *blocks);

#endif
