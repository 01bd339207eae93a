! Messages and collectives from Fortran, in pairs of ranks. Compiled three times: BINDING is 1 for
! mpif.h, 2 for `use mpi`, 3 for `use mpi_f08`. Each call has a tag of its own, which
! test_recorder.py knows. Prints `good` where what came is what was sent.
#if BINDING == 3
#define REQUEST_TYPE type(MPI_Request)
#define MESSAGE_TYPE type(MPI_Message)
#define COMM_TYPE type(MPI_Comm)
#define STATUS_TYPE(name) type(MPI_Status) :: name
#define STATUSES_TYPE(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#define TAG_OF(status) status%MPI_TAG
#else
#define REQUEST_TYPE integer
#define MESSAGE_TYPE integer
#define COMM_TYPE integer
#define STATUS_TYPE(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES_TYPE(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define TAG_OF(status) status(MPI_TAG)
#endif

program messages
#if BINDING == 2
    use mpi
#elif BINDING == 3
    use mpi_f08
#endif
    implicit none
#if BINDING == 1
    include 'mpif.h'
#endif
    integer :: rank, partner, ierror, wrong = 0, index, done, indices(2), i
    logical :: flag
    double precision :: out(100), in(100), theirs(100)
    REQUEST_TYPE :: request, requests(2)
    MESSAGE_TYPE :: message
    COMM_TYPE :: twin
    STATUS_TYPE(status)
    STATUSES_TYPE(statuses, 2)

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    partner = ieor(rank, 1)
    out = [(10 * i + rank, i = 1, 100)]
    theirs = [(10 * i + partner, i = 1, 100)]

    if (rank == 0) then
        call MPI_Send(out, 100, MPI_DOUBLE_PRECISION, partner, 1, MPI_COMM_WORLD, ierror)
        call MPI_Ssend(out, 100, MPI_DOUBLE_PRECISION, partner, 2, MPI_COMM_WORLD, ierror)
    else
        call MPI_Recv(in, 100, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                      status, ierror)
        call check(in(1:100), SOURCE_OF(status) == partner .and. TAG_OF(status) == 1)
        call MPI_Recv(in, 100, MPI_DOUBLE_PRECISION, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, &
                      ierror)
        call check(in(1:100), .true.)
    end if

    call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierror)
    call begin(3)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call check(in(1:50), .true.)
    call begin(4)
    call MPI_Waitall(2, requests, statuses, ierror)
    call check(in(1:50), .true.)
    call begin(5)
    call MPI_Waitany(2, requests, index, status, ierror)
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, ierror)
    call check(in(1:50), index >= 1 .and. index <= 2)
    call begin(6)
    done = 0
    do while (done /= MPI_UNDEFINED)
        call MPI_Waitsome(2, requests, done, indices, statuses, ierror)
    end do
    call check(in(1:50), .true.)
    call begin(7)
    flag = .false.
    do while (.not. flag)
        call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, ierror)
    end do
    call check(in(1:50), .true.)
    call begin(8)
    call MPI_Wait(requests(1), status, ierror)
    flag = .false.
    do while (.not. flag)
        call MPI_Test(requests(2), flag, MPI_STATUS_IGNORE, ierror)
    end do
    call check(in(1:50), SOURCE_OF(status) == partner)

    in = 0
    call MPI_Recv_init(in, 50, MPI_DOUBLE_PRECISION, partner, 9, twin, requests(1), ierror)
    call MPI_Send_init(out, 50, MPI_DOUBLE_PRECISION, partner, 9, twin, requests(2), ierror)
    call MPI_Startall(2, requests, ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call check(in(1:50), .true.)
    call MPI_Request_free(requests(1), ierror)
    call MPI_Request_free(requests(2), ierror)

    call MPI_Sendrecv(out, 50, MPI_DOUBLE_PRECISION, partner, 10, in, 50, MPI_DOUBLE_PRECISION, &
                      partner, 10, twin, MPI_STATUS_IGNORE, ierror)
    call check(in(1:50), .true.)
    call MPI_Isend(out, 50, MPI_DOUBLE_PRECISION, partner, 11, twin, request, ierror)
    call MPI_Mprobe(MPI_ANY_SOURCE, 11, twin, message, status, ierror)
    call MPI_Mrecv(in, 50, MPI_DOUBLE_PRECISION, message, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check(in(1:50), SOURCE_OF(status) == partner)

    in = out
    call MPI_Allreduce(MPI_IN_PLACE, in, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    in(1:50) = 0
    if (rank == 0) in = out
    call MPI_Ibcast(in, 50, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)

    if (wrong == 0) print *, 'good'
    call MPI_Finalize(ierror)

contains

    subroutine begin(tag)
        integer, intent(in) :: tag
        in = 0
        call MPI_Irecv(in, 50, MPI_DOUBLE_PRECISION, partner, tag, twin, requests(1), ierror)
        call MPI_Isend(out, 50, MPI_DOUBLE_PRECISION, partner, tag, twin, requests(2), ierror)
    end subroutine

    subroutine check(found, also)
        double precision, intent(in) :: found(:)
        logical, intent(in) :: also
        if (any(found /= theirs(1:size(found))) .or. .not. also) wrong = wrong + 1
    end subroutine
end program
