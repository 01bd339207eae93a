/* Allgatherv on a ring in pieces: each rank passes on piece after piece as it comes, so that one
 * long part does not hold up the ring, and empty parts take no step.
 *
 * Source: Traeff, Ripke, Siebert, Balaji, Thakur, Gropp, "A pipelined algorithm for large,
 * irregular all-gather problems", IJHPCA 24(1), 2010. Cost: (S + p - 2) (a + s b) at most for S
 * pieces of s bytes; with one part that is not empty the time of a pipelined chain, with equal
 * parts of one piece that of allgatherv_ring. Restrictions: none. Messages: from each rank to the
 * next the pieces of all parts but that of the next, on the private communicator. Scratch: none;
 * with a derived receive type n bytes and the places of the parts.
 *
 * Pieces come in the order of the own part, that of the previous rank, and so on. In a step a rank
 * receives its next piece while it sends one that it has had before the step. A rank without a part
 * of its own is one step behind; ranks with parts send in every step, so none waits in a circle. */
#include "gathered.h"
#include "parameters.h"

enum { TAG = PL_OWN_TAG };

/* The next piece of a stream of parts: `part`, then the one before it, and so on. */
struct piece {
    int part, at; /* where in the part it begins */
};

static int length(const struct pl_gathered *parts, const struct piece *piece, int most)
{
    const int rest = pl_gathered_bytes(parts, piece->part) - piece->at;
    return rest < most ? rest : most;
}

/* Over parts that have nothing more, up to and without `end`; false at the end. */
static bool find(const struct pl_gathered *parts, int p, struct piece *piece, int end)
{
    while (piece->part != end && piece->at >= pl_gathered_bytes(parts, piece->part))
        *piece = (struct piece){(piece->part + p - 1) % p, 0};
    return piece->part != end;
}

/* How many pieces the part has. */
static int pieces(const struct pl_gathered *parts, int part, int most)
{
    const int bytes = pl_gathered_bytes(parts, part);
    return bytes / most + (bytes % most > 0);
}

int pl_allgather_in_pieces(const struct pl_call *call, int most)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_gathered parts;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_gathered_begin(call, p, rank, &parts));
    const int next = (rank + 1) % p, previous = (rank + p - 1) % p;
    struct piece in = {previous, 0}, out = {rank, 0};
    long long have = pieces(&parts, rank, most);
    for (;;) {
        const bool more = find(&parts, p, &in, rank), unsent = find(&parts, p, &out, next);
        const bool sends = unsent && have > 0;
        if (!more && !unsent)
            break;
        const int in_bytes = more ? length(&parts, &in, most) : 0;
        const int out_bytes = sends ? length(&parts, &out, most) : 0;
        const char *from = sends ? pl_gathered_at(&parts, out.part) : NULL;
        char *to = more ? pl_gathered_at(&parts, in.part) : NULL;
        PL_TRY(pl_peer_sendrecv(call, sends ? from + out.at : NULL, out_bytes, MPI_BYTE,
                                sends ? next : MPI_PROC_NULL, TAG, more ? to + in.at : NULL,
                                in_bytes, MPI_BYTE, more ? previous : MPI_PROC_NULL, TAG, peers));
        in.at += in_bytes;
        out.at += out_bytes;
        have += more - sends;
    }
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    return pl_allgather_in_pieces(call, call->values[0]);
}

PL_DESCRIBE(PL_ALGORITHM, allgatherv, allgatherv_pipelined_ring, run,
            "a ring of pieces of all parts (Traeff et al. 2010)", .scratch_volumes = 1,
            .parameters = {{.name = "segment_bytes",
                            .least = 256,
                            .most = INT_MAX,
                            .standard = 32768,
                            .tries = {4096, 16384, 32768, 65536, 131072},
                            .summary = "bytes that travel as one message"}});
