/* Exscan as Scan, then every rank passes its prefix on to the next.
 *
 * Source: as guideline GL16 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A,
 * the other way round: an operation has no inverse, so the prefix must come from the rank before.
 * Cost: Scan(n) + a + n b.
 * Restrictions: contiguous types (operands.c); MPI_Scan keeps the order of operands. The receive
 * buffer of rank 0 is not touched. Messages: one to the next rank, on the private communicator.
 * Scratch: n bytes. */
#include "tools.h"

enum { TAG = PL_OWN_TAG };

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));

    const int n = call->recvcount;
    const MPI_Datatype type = call->recvtype;
    const int next = rank + 1 < p ? rank + 1 : MPI_PROC_NULL;
    const int previous = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    void *prefix = pl_scratch_elements(call->comm, PL_SLOT_RECV, n, type);
    PL_NEED(call, prefix);
    PL_TRY(pl_inner_Scan(pl_operand(call), prefix, n, type, call->op, call->comm, call));
    PL_TRY(pl_peer_sendrecv(call, prefix, n, type, next, TAG, call->recvbuf, n, type, previous, TAG,
                            peers));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, exscan, exscan_as_scan_plus_sendrecv, run,
            "Scan, then each prefix goes to the next rank", .restrictions = PL_CONTIGUOUS,
            .scratch_volumes = 1);
