/* The arguments of collectives, by shape (collectives.def):
 * PL_P_SHAPE(Count, Displ, more): the parameters of the C function, with what comes behind them;
 * PL_G_SHAPE(more): these as arguments;
 * PL_C_SHAPE: arguments out of a call `c`;
 * PL_F_SHAPE: statements that put the parameters into a struct pl_call `call`, but for comm;
 * PL_E_SHAPE: whether the parameters are those of a call `c`, but for comm and what tables have. */
#ifndef PL_SHAPES_H
#define PL_SHAPES_H

/* clang-format off */
#define PL_P_SEND(Count) const void *sendbuf, Count sendcount, MPI_Datatype sendtype
#define PL_P_SENDV(Count, Displ)                                                                   \
    const void *sendbuf, const Count sendcounts[], const Displ sdispls[], MPI_Datatype sendtype
#define PL_P_RECV(Count) void *recvbuf, Count recvcount, MPI_Datatype recvtype
#define PL_P_RECVV(Count, Displ)                                                                   \
    void *recvbuf, const Count recvcounts[], const Displ rdispls[], MPI_Datatype recvtype
#define PL_G_SEND sendbuf, sendcount, sendtype
#define PL_G_SENDV sendbuf, sendcounts, sdispls, sendtype
#define PL_G_RECV recvbuf, recvcount, recvtype
#define PL_G_RECVV recvbuf, recvcounts, rdispls, recvtype
#define PL_C_SEND c->sendbuf, c->sendcount, c->sendtype
#define PL_C_SENDV c->sendbuf, c->sendcounts, c->sdispls, c->sendtype
#define PL_C_RECV c->recvbuf, c->recvcount, c->recvtype
#define PL_C_RECVV c->recvbuf, c->recvcounts, c->rdispls, c->recvtype

#define PL_P_BARRIER(Count, Displ, ...) (MPI_Comm comm __VA_ARGS__)
#define PL_G_BARRIER(...) (comm __VA_ARGS__)
#define PL_C_BARRIER c->comm
#define PL_P_BCAST(Count, Displ, ...)                                                              \
    (void *buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm __VA_ARGS__)
#define PL_G_BCAST(...) (buffer, count, type, root, comm __VA_ARGS__)
#define PL_C_BCAST PL_C_RECV, c->root, c->comm
#define PL_P_ROOTED(Count, Displ, ...)                                                             \
    (PL_P_SEND(Count), PL_P_RECV(Count), int root, MPI_Comm comm __VA_ARGS__)
#define PL_G_ROOTED(...) (PL_G_SEND, PL_G_RECV, root, comm __VA_ARGS__)
#define PL_C_ROOTED PL_C_SEND, PL_C_RECV, c->root, c->comm
#define PL_P_GATHERV(Count, Displ, ...)                                                            \
    (PL_P_SEND(Count), PL_P_RECVV(Count, Displ), int root, MPI_Comm comm __VA_ARGS__)
#define PL_G_GATHERV(...) (PL_G_SEND, PL_G_RECVV, root, comm __VA_ARGS__)
#define PL_C_GATHERV PL_C_SEND, PL_C_RECVV, c->root, c->comm
#define PL_P_SCATTERV(Count, Displ, ...)                                                           \
    (PL_P_SENDV(Count, Displ), PL_P_RECV(Count), int root, MPI_Comm comm __VA_ARGS__)
#define PL_G_SCATTERV(...) (PL_G_SENDV, PL_G_RECV, root, comm __VA_ARGS__)
#define PL_C_SCATTERV PL_C_SENDV, PL_C_RECV, c->root, c->comm
#define PL_P_BLOCKS(Count, Displ, ...)                                                             \
    (PL_P_SEND(Count), PL_P_RECV(Count), MPI_Comm comm __VA_ARGS__)
#define PL_G_BLOCKS(...) (PL_G_SEND, PL_G_RECV, comm __VA_ARGS__)
#define PL_C_BLOCKS PL_C_SEND, PL_C_RECV, c->comm
#define PL_P_ALLGATHERV(Count, Displ, ...)                                                         \
    (PL_P_SEND(Count), PL_P_RECVV(Count, Displ), MPI_Comm comm __VA_ARGS__)
#define PL_G_ALLGATHERV(...) (PL_G_SEND, PL_G_RECVV, comm __VA_ARGS__)
#define PL_C_ALLGATHERV PL_C_SEND, PL_C_RECVV, c->comm
#define PL_P_ALLTOALLV(Count, Displ, ...)                                                          \
    (PL_P_SENDV(Count, Displ), PL_P_RECVV(Count, Displ), MPI_Comm comm __VA_ARGS__)
#define PL_G_ALLTOALLV(...) (PL_G_SENDV, PL_G_RECVV, comm __VA_ARGS__)
#define PL_C_ALLTOALLV PL_C_SENDV, PL_C_RECVV, c->comm
#define PL_P_ALLTOALLW(Count, Displ, ...)                                                          \
    (const void *sendbuf, const Count sendcounts[], const Displ sdispls[],                         \
     const MPI_Datatype sendtypes[], void *recvbuf, const Count recvcounts[],                      \
     const Displ rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm __VA_ARGS__)
#define PL_G_ALLTOALLW(...)                                                                        \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,             \
     comm __VA_ARGS__)
#define PL_C_ALLTOALLW                                                                             \
    c->sendbuf, c->sendcounts, c->sdispls, c->sendtypes, c->recvbuf, c->recvcounts, c->rdispls,    \
    c->recvtypes, c->comm

#define PL_P_OPERANDS(Counts) const void *sendbuf, void *recvbuf, Counts, MPI_Datatype type, MPI_Op op
#define PL_P_REDUCE(Count, Displ, ...)                                                             \
    (PL_P_OPERANDS(Count count), int root, MPI_Comm comm __VA_ARGS__)
#define PL_G_REDUCE(...) (sendbuf, recvbuf, count, type, op, root, comm __VA_ARGS__)
#define PL_C_REDUCE c->sendbuf, PL_C_RECV, c->op, c->root, c->comm
#define PL_P_REDUCED(Count, Displ, ...) (PL_P_OPERANDS(Count count), MPI_Comm comm __VA_ARGS__)
#define PL_G_REDUCED(...) (sendbuf, recvbuf, count, type, op, comm __VA_ARGS__)
#define PL_C_REDUCED c->sendbuf, PL_C_RECV, c->op, c->comm
#define PL_P_REDUCE_SCATTER(Count, Displ, ...)                                                     \
    (PL_P_OPERANDS(const Count counts[]), MPI_Comm comm __VA_ARGS__)
#define PL_G_REDUCE_SCATTER(...) (sendbuf, recvbuf, counts, type, op, comm __VA_ARGS__)
#define PL_C_REDUCE_SCATTER c->sendbuf, c->recvbuf, c->recvcounts, c->recvtype, c->op, c->comm

#define PL_F_IN_SENDS call.sendbuf = sendbuf, call.sendcount = sendcount, call.sendtype = sendtype
#define PL_F_IN_SENDSV                                                                                     \
    call.sendbuf = sendbuf, call.sendcounts = sendcounts, call.sdispls = sdispls,                  \
    call.sendtype = sendtype
#define PL_F_IN_RECEIVES call.recvbuf = recvbuf, call.recvcount = recvcount, call.recvtype = recvtype
#define PL_F_IN_RECEIVESV                                                                                  \
    call.recvbuf = recvbuf, call.recvcounts = recvcounts, call.rdispls = rdispls,                  \
    call.recvtype = recvtype
#define PL_F_IN_REDUCES call.sendbuf = sendbuf, call.recvbuf = recvbuf, call.recvtype = type, call.op = op
#define PL_F_BARRIER
#define PL_F_BCAST                                                                               \
    call.recvbuf = buffer, call.recvcount = count, call.recvtype = type, call.root = root;
#define PL_F_ROOTED PL_F_IN_SENDS, PL_F_IN_RECEIVES, call.root = root;
#define PL_F_GATHERV PL_F_IN_SENDS, PL_F_IN_RECEIVESV, call.root = root;
#define PL_F_SCATTERV PL_F_IN_SENDSV, PL_F_IN_RECEIVES, call.root = root;
#define PL_F_BLOCKS PL_F_IN_SENDS, PL_F_IN_RECEIVES;
#define PL_F_ALLGATHERV PL_F_IN_SENDS, PL_F_IN_RECEIVESV;
#define PL_F_ALLTOALLV PL_F_IN_SENDSV, PL_F_IN_RECEIVESV;
#define PL_F_ALLTOALLW                                                                             \
    call.sendbuf = sendbuf, call.sendcounts = sendcounts, call.sdispls = sdispls,                  \
    call.sendtypes = sendtypes, call.recvbuf = recvbuf, call.recvcounts = recvcounts,              \
    call.rdispls = rdispls, call.recvtypes = recvtypes;
#define PL_F_REDUCE PL_F_IN_REDUCES, call.recvcount = count, call.root = root;
#define PL_F_REDUCED PL_F_IN_REDUCES, call.recvcount = count;
#define PL_F_REDUCE_SCATTER PL_F_IN_REDUCES, call.recvcounts = counts;

#define PL_E_SEND c->sendbuf == sendbuf && c->sendcount == sendcount && c->sendtype == sendtype
#define PL_E_SENDV                                                                                 \
    c->sendbuf == sendbuf && c->sendcounts == sendcounts && c->sdispls == sdispls &&               \
    c->sendtype == sendtype
#define PL_E_RECV c->recvbuf == recvbuf && c->recvcount == recvcount && c->recvtype == recvtype
#define PL_E_RECVV                                                                                 \
    c->recvbuf == recvbuf && c->recvcounts == recvcounts && c->rdispls == rdispls &&               \
    c->recvtype == recvtype
#define PL_E_OPERANDS                                                                              \
    c->sendbuf == sendbuf && c->recvbuf == recvbuf && c->recvtype == type && c->op == op
#define PL_E_BARRIER true
#define PL_E_BCAST                                                                                 \
    c->recvbuf == buffer && c->recvcount == count && c->recvtype == type && c->root == root
#define PL_E_ROOTED PL_E_SEND && PL_E_RECV && c->root == root
#define PL_E_GATHERV PL_E_SEND && PL_E_RECVV && c->root == root
#define PL_E_SCATTERV PL_E_SENDV && PL_E_RECV && c->root == root
#define PL_E_BLOCKS PL_E_SEND && PL_E_RECV
#define PL_E_ALLGATHERV PL_E_SEND && PL_E_RECVV
#define PL_E_ALLTOALLV PL_E_SENDV && PL_E_RECVV
#define PL_E_ALLTOALLW false /* is never remembered */
#define PL_E_REDUCE PL_E_OPERANDS && c->recvcount == count && c->root == root
#define PL_E_REDUCED PL_E_OPERANDS && c->recvcount == count
#define PL_E_REDUCE_SCATTER PL_E_OPERANDS && c->recvcounts == counts
/* clang-format on */

#endif
