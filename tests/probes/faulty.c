/* A preload library that breaks one call in the way PLUMBLINE_TEST_FAULT names, to see that the
 * probe notices. The library's own functions (PMPI_) stay as they are. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int fault(const char *name)
{
    const char *wanted = getenv("PLUMBLINE_TEST_FAULT");
    return wanted && strcmp(wanted, name) == 0;
}

static int is_last(MPI_Comm comm)
{
    int rank, size;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    return rank == size - 1;
}

/* Whether there was a call of so many bytes before. */
static int is_again(int bytes)
{
    static char seen[1 << 20];
    return seen[bytes % (int)sizeof seen]++ > 0;
}

static int is_derived(MPI_Datatype type)
{
    int integers, addresses, types, combiner;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner != MPI_COMBINER_NAMED;
}

static int is_fewer(MPI_Comm comm)
{
    int size, all;
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_size(MPI_COMM_WORLD, &all);
    return size < all;
}

/* What a rule matches and no race measures. `calls`: of this function so far. */
static int is_circumstance(const void *sendbuf, const void *recvbuf, MPI_Datatype type,
                           MPI_Comm comm, int calls)
{
    static MPI_Comm first;
    if (calls == 1)
        first = comm;
    return (fault("odd_address") && (uintptr_t)recvbuf % 8 != 0 && recvbuf != MPI_IN_PLACE) ||
           (fault("in_place") && (sendbuf == MPI_IN_PLACE || recvbuf == MPI_IN_PLACE)) ||
           (fault("other_comm") && comm != first) || (fault("late") && calls > 20000) ||
           (fault("derived") && is_derived(type)) || (fault("half") && is_fewer(comm));
}

/* Changes a bit of the first element. */
static void spoil(void *buffer, MPI_Datatype type)
{
    MPI_Aint lb, extent;
    PMPI_Type_get_true_extent(type, &lb, &extent);
    ((unsigned char *)buffer)[lb] ^= 1;
}

/* Wrong on the last rank where counts differ by more than one element. */
int MPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                   const int counts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    int least = counts[0], most = counts[0], size;
    const int rc =
        PMPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, counts, displs, recvtype, comm);
    PMPI_Comm_size(comm, &size);
    for (int i = 1; i < size; i++) {
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
    }
    if (fault("uneven") && most - least > 1 && is_last(comm))
        spoil(recvbuf, recvtype);
    return rc;
}

/* The operands from the last to the first. */
static int reduce_backwards(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                            MPI_Op op, MPI_Comm comm)
{
    MPI_Comm back;
    int rank;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_split(comm, 0, -rank, &back);
    const int rc = PMPI_Allreduce(sendbuf, recvbuf, count, type, op, back);
    PMPI_Comm_free(&back);
    return rc;
}

static int commutes(MPI_Op op)
{
    int commutative;
    PMPI_Op_commutative(op, &commutative);
    return commutative;
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    int width, bytes;
    PMPI_Type_size(type, &width);
    bytes = count * width;
    unsigned char *result = recvbuf;
    if (fault("refused"))
        return MPI_ERR_OP;
    int rc = fault("backwards") && !commutes(op)
                 ? reduce_backwards(sendbuf, recvbuf, count, type, op, comm)
                 : PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
    static int calls;
    const int again = is_again(bytes);
    calls++;
    if (is_circumstance(sendbuf, recvbuf, type, comm, calls) && bytes > 0)
        spoil(recvbuf, type);
    if (!is_last(comm) || bytes == 0)
        return rc;
    if ((fault("second") && again) || (fault("hundredth") && calls % 100 == 0) ||
        (fault("one_count") && count == 77))
        result[bytes - 1] ^= 1;
    if (fault("wrong"))
        result[bytes - 1] ^= 1;
    if (fault("past_end"))
        result[bytes] ^= 1;
    if (fault("before_start"))
        result[-1] ^= 1;
    if (fault("send_buffer"))
        ((unsigned char *)sendbuf)[0] ^= 1;
    return rc;
}

/* Waits for nobody: always, or once in a while. */
int MPI_Barrier(MPI_Comm comm)
{
    static int calls;
    calls++;
    return fault("open") || (fault("seldom_open") && calls % 20 == 0) ? MPI_SUCCESS
                                                                      : PMPI_Barrier(comm);
}

/* Only the root's receive buffer is significant. */
int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
               int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    static int calls;
    int rank, size;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    if (fault("not_significant") && is_last(comm))
        memset(recvbuf, 0, 1);
    int rc = PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    const int at_last = fault("last_root") && root == size - 1;
    calls++;
    if (rank == root && recvcount > 0 &&
        (at_last || is_circumstance(sendbuf, recvbuf, recvtype, comm, calls)))
        spoil(recvbuf, recvtype);
    return rc;
}

/* What rank 0 finds in its receive buffer is undefined: this breaks nothing. */
int MPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm)
{
    int rank, width, rc = PMPI_Exscan(sendbuf, recvbuf, count, type, op, comm);
    PMPI_Comm_rank(comm, &rank);
    PMPI_Type_size(type, &width);
    if (fault("undefined") && rank == 0)
        memset(recvbuf, 0x33, (size_t)(count * width));
    return rc;
}

/* One rank is slower than the others by 3 ms. */
int MPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype type, MPI_Op op)
{
    const char *slow = getenv("PLUMBLINE_TEST_SLOW_RANK");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (slow && atoi(slow) == rank)
        nanosleep(&(struct timespec){0, 3000000}, NULL);
    return PMPI_Reduce_local(inbuf, inoutbuf, count, type, op);
}

/* Several hosts on one: rank r is on node r mod PLUMBLINE_TEST_HOSTS. */
int PMPI_Get_processor_name(char *name, int *length)
{
    const char *hosts = getenv("PLUMBLINE_TEST_HOSTS");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (hosts)
        snprintf(name, MPI_MAX_PROCESSOR_NAME, "node%d", rank % atoi(hosts));
    else
        gethostname(name, MPI_MAX_PROCESSOR_NAME);
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}
