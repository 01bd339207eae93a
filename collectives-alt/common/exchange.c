/* Messages of several blocks of an Allgather. */
#include "gathered.h"

enum { TAG = 61 };

int pl_exchange_begin(const struct pl_call *call, int p, int rank, int most,
                      struct pl_gathered *parts, struct pl_block_rounds *exchange)
{
    int rc;
    *exchange = (struct pl_block_rounds){.parts = parts, .p = p, .rank = rank};
    PL_TRY(pl_private(call->comm, &exchange->peers));
    PL_TRY(pl_gathered_begin(call, p, rank, parts));
    const size_t message = (size_t)most * (size_t)parts->unit;
    exchange->out = pl_scratch(call->comm, PL_SLOT_AUX, 2 * (size_t)p * sizeof(int));
    exchange->out_bytes = pl_scratch(call->comm, PL_SLOT_WORK, 2 * message);
    PL_NEED(call, exchange->out && exchange->out_bytes);
    exchange->in = exchange->out + p;
    exchange->in_bytes = exchange->out_bytes + message;
out:
    return rc;
}

/* One block is sent from its place and received into it. */
static void *message_of(const struct pl_block_rounds *exchange, const int *list, int blocks,
                        char *message)
{
    return blocks == 1 ? pl_gathered_at(exchange->parts, list[0]) : message;
}

int pl_exchange(const struct pl_call *call, const struct pl_block_rounds *exchange, int to,
                int sent, int from, int received)
{
    int rc = MPI_SUCCESS;
    const struct pl_gathered *parts = exchange->parts;
    const size_t unit = (size_t)parts->unit;
    if (unit == 0)
        return rc;
    for (int i = 0; i < sent && sent > 1; i++)
        memcpy(exchange->out_bytes + (size_t)i * unit, pl_gathered_at(parts, exchange->out[i]),
               unit);
    PL_TRY(pl_peer_sendrecv(call, message_of(exchange, exchange->out, sent, exchange->out_bytes),
                            sent * parts->unit, MPI_BYTE, to, TAG,
                            message_of(exchange, exchange->in, received, exchange->in_bytes),
                            received * parts->unit, MPI_BYTE, from, TAG, exchange->peers));
    for (int i = 0; i < received && received > 1; i++)
        memcpy(pl_gathered_at(parts, exchange->in[i]), exchange->in_bytes + (size_t)i * unit, unit);
out:
    return rc;
}
