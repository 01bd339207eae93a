/* Two ranks, and a message that goes there and back: the root sends by the operation, its partner
 * receives, and answers in the same way with what it has received. A repetition is the round trip;
 * the root sees all of it. The other ranks have nothing to do. */
#include "pattern/pattern.h"

#include <stdlib.h>

const struct pl_pattern pl_pattern_point_to_point = {
    .name = "point_to_point",
    .summary = "a message from the root to the last rank (where that is the root: the first) and "
               "back",
    .least_ranks = 2,
    .has_root = true,
};

typedef int send_call(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int receive_call(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);

static inline int there_and_back(const struct pl_call *call, send_call *send, receive_call *receive)
{
    const struct pl_pair_role role = pl_role(call);
    int rc = MPI_SUCCESS;
    if (role.is_root) {
        PL_TRY(send(call->sendbuf, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                    call->comm));
        PL_TRY(receive(call->recvbuf, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                       call->comm, MPI_STATUS_IGNORE));
    } else if (role.is_partner) {
        PL_TRY(receive(call->recvbuf, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                       call->comm, MPI_STATUS_IGNORE));
        PL_TRY(send(call->recvbuf, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                    call->comm));
    }
out:
    return rc;
}

static int receive_any_tag(void *buffer, int count, MPI_Datatype type, int from, int tag,
                           MPI_Comm comm, MPI_Status *status)
{
    (void)tag;
    return MPI_Recv(buffer, count, type, from, MPI_ANY_TAG, comm, status);
}

static int receive_when_there(void *buffer, int count, MPI_Datatype type, int from, int tag,
                              MPI_Comm comm, MPI_Status *status)
{
    int there = 0, rc = MPI_SUCCESS;
    while (!there && rc == MPI_SUCCESS)
        rc = MPI_Iprobe(from, tag, comm, &there, MPI_STATUS_IGNORE);
    return rc == MPI_SUCCESS ? MPI_Recv(buffer, count, type, from, tag, comm, status) : rc;
}

static int receive_by_request(void *buffer, int count, MPI_Datatype type, int from, int tag,
                              MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request;
    int rc = MPI_Irecv(buffer, count, type, from, tag, comm, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, status) : rc;
}

static int send_by_request(const void *buffer, int count, MPI_Datatype type, int to, int tag,
                           MPI_Comm comm)
{
    MPI_Request request;
    int rc = MPI_Isend(buffer, count, type, to, tag, comm, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

static int send_synchronously_by_request(const void *buffer, int count, MPI_Datatype type, int to,
                                         int tag, MPI_Comm comm)
{
    MPI_Request request;
    int rc = MPI_Issend(buffer, count, type, to, tag, comm, &request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

static int send_recv(const struct pl_call *call)
{
    return there_and_back(call, MPI_Send, MPI_Recv);
}

static int send_recv_any_tag(const struct pl_call *call)
{
    return there_and_back(call, MPI_Send, receive_any_tag);
}

static int send_iprobe_recv(const struct pl_call *call)
{
    return there_and_back(call, MPI_Send, receive_when_there);
}

static int send_irecv(const struct pl_call *call)
{
    return there_and_back(call, MPI_Send, receive_by_request);
}

static int isend_recv(const struct pl_call *call)
{
    return there_and_back(call, send_by_request, MPI_Recv);
}

static int ssend_recv(const struct pl_call *call)
{
    return there_and_back(call, MPI_Ssend, MPI_Recv);
}

static int issend_recv(const struct pl_call *call)
{
    return there_and_back(call, send_synchronously_by_request, MPI_Recv);
}

/* Of Bsend: what MPI copies messages to, attached for a series. */
static void *attached;

static int attach(const struct pl_call *call)
{
    int packed, rc;
    PL_TRY(MPI_Pack_size(call->recvcount, call->recvtype, call->comm, &packed));
    packed = 2 * (packed + MPI_BSEND_OVERHEAD);
    attached = malloc((size_t)packed);
    if (!attached)
        return MPI_ERR_NO_MEM;
    rc = MPI_Buffer_attach(attached, packed);
out:
    return rc;
}

static void detach(void)
{
    void *buffer;
    int size;
    if (attached)
        MPI_Buffer_detach(&buffer, &size);
    free(attached);
    attached = NULL;
}

/* A buffered message has left its buffer when it has come: the answer says so. */
static int bsend_recv(const struct pl_call *call)
{
    return there_and_back(call, MPI_Bsend, MPI_Recv);
}

/* Ready sends are legal where the receive is posted: the root posts that of the answer before it
 * sends, and the partner says once, with an empty message, that its own is posted. */
static int rsend_recv(const struct pl_call *call)
{
    const struct pl_pair_role role = pl_role(call);
    const int count = call->recvcount;
    MPI_Request request;
    int rc = MPI_SUCCESS;
    if (role.is_root) {
        PL_TRY(MPI_Irecv(call->recvbuf, count, call->recvtype, role.peer, PL_PATTERN_TAG,
                         call->comm, &request));
        PL_TRY(MPI_Recv(NULL, 0, MPI_BYTE, role.peer, PL_PATTERN_TAG + 1, call->comm,
                        MPI_STATUS_IGNORE));
        PL_TRY(
            MPI_Rsend(call->sendbuf, count, call->recvtype, role.peer, PL_PATTERN_TAG, call->comm));
        PL_TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (role.is_partner) {
        PL_TRY(MPI_Irecv(call->recvbuf, count, call->recvtype, role.peer, PL_PATTERN_TAG,
                         call->comm, &request));
        PL_TRY(MPI_Send(NULL, 0, MPI_BYTE, role.peer, PL_PATTERN_TAG + 1, call->comm));
        PL_TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
        PL_TRY(
            MPI_Rsend(call->recvbuf, count, call->recvtype, role.peer, PL_PATTERN_TAG, call->comm));
    }
out:
    return rc;
}

/* Of `persistent`: the requests of a series, those that send and those that receive. */
static MPI_Request sends = MPI_REQUEST_NULL, receives = MPI_REQUEST_NULL;

static int make_requests(const struct pl_call *call)
{
    const struct pl_pair_role role = pl_role(call);
    int rc = MPI_SUCCESS;
    if (role.is_root || role.is_partner) {
        const void *out = role.is_root ? call->sendbuf : call->recvbuf;
        PL_TRY(MPI_Send_init(out, call->recvcount, call->recvtype, role.peer, PL_PATTERN_TAG,
                             call->comm, &sends));
        PL_TRY(MPI_Recv_init(call->recvbuf, call->recvcount, call->recvtype, role.peer,
                             PL_PATTERN_TAG, call->comm, &receives));
    }
out:
    return rc;
}

static void free_requests(void)
{
    if (sends != MPI_REQUEST_NULL)
        MPI_Request_free(&sends);
    if (receives != MPI_REQUEST_NULL)
        MPI_Request_free(&receives);
}

static int start_and_wait(MPI_Request *request)
{
    int rc = MPI_Start(request);
    return rc == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : rc;
}

static int persistent(const struct pl_call *call)
{
    const struct pl_pair_role role = pl_role(call);
    int rc = MPI_SUCCESS;
    if (role.is_root || role.is_partner) {
        PL_TRY(start_and_wait(role.is_root ? &sends : &receives));
        PL_TRY(start_and_wait(role.is_root ? &receives : &sends));
    }
out:
    return rc;
}

#define PL_THERE_AND_BACK(symbol, text, ...)                                                       \
    const struct pl_operation pl_operation_##symbol = {.name = #symbol,                            \
                                                       .pattern = &pl_pattern_point_to_point,      \
                                                       .summary = text,                            \
                                                       .landing = PL_LANDS_ECHO,                   \
                                                       .run = symbol,                              \
                                                       __VA_ARGS__};

PL_THERE_AND_BACK(send_recv, "MPI_Send (standard mode) to MPI_Recv", )
PL_THERE_AND_BACK(send_recv_any_tag, "MPI_Send to MPI_Recv with MPI_ANY_TAG", )
PL_THERE_AND_BACK(send_iprobe_recv, "MPI_Send to MPI_Iprobe until it is there, then MPI_Recv", )
PL_THERE_AND_BACK(send_irecv, "MPI_Send to MPI_Irecv and MPI_Wait", )
PL_THERE_AND_BACK(isend_recv, "MPI_Isend and MPI_Wait to MPI_Recv", )
PL_THERE_AND_BACK(bsend_recv, "MPI_Bsend (buffered mode) to MPI_Recv", .begin = attach,
                  .end = detach)
PL_THERE_AND_BACK(ssend_recv, "MPI_Ssend (synchronous mode) to MPI_Recv", )
PL_THERE_AND_BACK(issend_recv, "MPI_Issend and MPI_Wait to MPI_Recv", )
PL_THERE_AND_BACK(rsend_recv,
                  "MPI_Rsend (ready mode) to MPI_Irecv and MPI_Wait, after an empty message that "
                  "says it is posted", )
PL_THERE_AND_BACK(persistent, "MPI_Send_init and MPI_Recv_init once; MPI_Start and MPI_Wait",
                  .begin = make_requests, .end = free_requests)
