#include "measure/replay.h"

#include <stdio.h>
#include <string.h>

static int step(const struct pl_call *call, const struct pl_step *step, MPI_Request **next)
{
    const void *from = call->sendbuf;
    void *to = (char *)call->recvbuf + step->place;
    const struct pl_rank_steps *own = call->messages;
    switch (step->kind) {
    case PL_STEP_SEND:
        return MPI_Send(from, step->bytes, MPI_BYTE, step->peer, step->tag, call->comm);
    case PL_STEP_SSEND:
        return MPI_Ssend(from, step->bytes, MPI_BYTE, step->peer, step->tag, call->comm);
    case PL_STEP_ISEND:
        return MPI_Isend(from, step->bytes, MPI_BYTE, step->peer, step->tag, call->comm, (*next)++);
    case PL_STEP_ISSEND:
        return MPI_Issend(from, step->bytes, MPI_BYTE, step->peer, step->tag, call->comm,
                          (*next)++);
    case PL_STEP_RECV:
        return MPI_Recv(to, step->bytes, MPI_BYTE, step->peer, step->tag, call->comm,
                        MPI_STATUS_IGNORE);
    case PL_STEP_IRECV:
        return MPI_Irecv(to, step->bytes, MPI_BYTE, step->peer, step->tag, call->comm, (*next)++);
    case PL_STEP_WAIT:
        return MPI_Wait(&own->requests[step->peer], MPI_STATUS_IGNORE);
    }
    return MPI_ERR_INTERN;
}

int pl_replay_run(const struct pl_call *call)
{
    const struct pl_rank_steps *own = call->messages;
    MPI_Request *next = own ? own->requests : NULL;
    int rc = MPI_SUCCESS;
    for (int i = 0; own && i < own->count && rc == MPI_SUCCESS; i++)
        rc = step(call, &own->steps[i], &next);
    return rc;
}

/* What a rank sends in a check. */
static unsigned char byte_of(int rank)
{
    return (unsigned char)(rank % 251 + 1);
}

static bool came(const unsigned char *place, int bytes, unsigned char wanted)
{
    for (int i = 0; i < bytes; i++)
        if (place[i] != wanted)
            return false;
    return true;
}

bool pl_replay_check(const struct pl_arguments *arguments, const struct pl_world *world, int *rc,
                     char *detail, size_t size)
{
    const struct pl_call *call = &arguments->call;
    const struct pl_rank_steps *own = call->messages;
    memset((void *)call->sendbuf, byte_of(world->rank), arguments->send_bytes);
    memset(call->recvbuf, 0, arguments->recv_bytes);
    *rc = pl_replay_run(call);
    for (int i = 0; *rc == MPI_SUCCESS && own && i < own->count; i++) {
        const struct pl_step *received = &own->steps[i];
        const unsigned char *place = (const unsigned char *)call->recvbuf + received->place;
        if (received->kind != PL_STEP_RECV && received->kind != PL_STEP_IRECV)
            continue;
        if (!came(place, received->bytes, byte_of(received->peer))) {
            snprintf(detail, size, "the message of rank %d with tag %d is not the one that it sent",
                     received->peer, received->tag);
            return false;
        }
    }
    return true;
}
