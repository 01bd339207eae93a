! A Fortran program that calls every collective that is wrapped and knows the results, which are
! whole numbers. Compiled three times: BINDING is 1 for mpif.h, 2 for `use mpi`, 3 for `use mpi_f08`.
! Prints the number of good checks of all ranks, or what is wrong.
#if BINDING == 3
#define COMM_TYPE type(MPI_Comm)
#define OP_TYPE type(MPI_Op)
#define DATATYPE_TYPE type(MPI_Datatype)
! ierror is optional
#define IERR
#else
#define COMM_TYPE integer
#define OP_TYPE integer
#define DATATYPE_TYPE integer
#define IERR , ierror
#endif

module checks
#if BINDING == 2
    use mpi
#elif BINDING == 3
    use mpi_f08
#endif
    implicit none
#if BINDING == 1
    include 'mpif.h'
#endif
    integer :: rank, p, ierror, good = 0
    COMM_TYPE :: comm

contains

    subroutine check(what, found, expected)
        character(*), intent(in) :: what
        integer, intent(in) :: found(:), expected(:)
        if (all(found == expected)) then
            good = good + 1
        else
            print *, 'not ok ', what, ' on rank ', rank, ': ', found, ' not ', expected
        end if
    end subroutine

    ! Of the ranks 0 .. n - 1, each with rank + 1.
    integer function sum_to(n)
        integer, intent(in) :: n
        sum_to = n * (n + 1) / 2
    end function

    ! A user-defined operation: the sum.
#if BINDING == 3
    subroutine add(in, inout, length, datatype)
        use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
        type(c_ptr), value :: in, inout
        integer :: length
        type(MPI_Datatype) :: datatype
        integer, pointer :: from(:), to(:)
        call c_f_pointer(in, from, [length])
        call c_f_pointer(inout, to, [length])
        to = to + from
    end subroutine
#else
    subroutine add(in, inout, length, datatype)
        integer :: length, datatype
        integer :: in(length), inout(length)
        inout = inout + in
    end subroutine
#endif

    subroutine movers()
        integer :: i, one(1), all_(p), counts(p), displs(p), mine(p), block(2)
        one = 0
        if (rank == p - 1) one = 42
        call MPI_Bcast(one, 1, MPI_INTEGER, p - 1, comm IERR)
        call check('bcast', one, [42])

        one = rank + 1
        all_ = 0
        call MPI_Gather(one, 1, MPI_INTEGER, all_, 1, MPI_INTEGER, 0, comm IERR)
        if (rank == 0) call check('gather', all_, [(i, i = 1, p)])
        if (rank == 0) then
            all_(1) = 1
            call MPI_Gather(MPI_IN_PLACE, 1, MPI_INTEGER, all_, 1, MPI_INTEGER, 0, comm IERR)
            call check('gather in place', all_, [(i, i = 1, p)])
        else
            call MPI_Gather(one, 1, MPI_INTEGER, all_, 1, MPI_INTEGER, 0, comm IERR)
        end if

        counts = 1
        displs = [(p - i, i = 1, p)]
        call MPI_Gatherv(one, 1, MPI_INTEGER, all_, counts, displs, MPI_INTEGER, 0, comm IERR)
        if (rank == 0) call check('gatherv', all_, [(p + 1 - i, i = 1, p)])
        call MPI_Allgatherv(one, 1, MPI_INTEGER, all_, counts, displs, MPI_INTEGER, comm IERR)
        call check('allgatherv', all_, [(p + 1 - i, i = 1, p)])

        mine = [(10 * i, i = 1, p)]
        call MPI_Scatter(mine, 1, MPI_INTEGER, one, 1, MPI_INTEGER, 0, comm IERR)
        call check('scatter', one, [10 * (rank + 1)])
        one = 10
        if (rank == 0) then
            call MPI_Scatter(mine, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, comm IERR)
        else
            call MPI_Scatter(mine, 1, MPI_INTEGER, one, 1, MPI_INTEGER, 0, comm IERR)
        end if
        call check('scatter in place', one, [10 * (rank + 1)])
        call MPI_Scatterv(mine, counts, displs, MPI_INTEGER, one, 1, MPI_INTEGER, 0, comm IERR)
        call check('scatterv', one, [10 * (p - rank)])

        one = rank + 1
        call MPI_Allgather(one, 1, MPI_INTEGER, all_, 1, MPI_INTEGER, comm IERR)
        call check('allgather', all_, [(i, i = 1, p)])
        all_ = 0
        all_(rank + 1) = rank + 1
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, all_, 1, MPI_INTEGER, comm IERR)
        call check('allgather in place', all_, [(i, i = 1, p)])

        mine = [(100 * rank + i, i = 1, p)]
        call MPI_Alltoall(mine, 1, MPI_INTEGER, all_, 1, MPI_INTEGER, comm IERR)
        call check('alltoall', all_, [(100 * (i - 1) + rank + 1, i = 1, p)])
        call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, mine, 1, MPI_INTEGER, comm IERR)
        call check('alltoall in place', mine, [(100 * (i - 1) + rank + 1, i = 1, p)])
        mine = [(100 * rank + i, i = 1, p)]
        displs = [(i - 1, i = 1, p)]
        call MPI_Alltoallv(mine, counts, displs, MPI_INTEGER, all_, counts, displs, MPI_INTEGER, &
                           comm IERR)
        call check('alltoallv', all_, [(100 * (i - 1) + rank + 1, i = 1, p)])
        call typed()
        call MPI_Barrier(comm IERR)
        block = 0
        call from_bottom(block)
        call check('bcast from MPI_BOTTOM', block, [7, 8])
    end subroutine

    ! Rank i sends rank j two numbers, as a pair where i + j is odd; it receives them as two.
    subroutine typed()
        integer :: i, pair_or_two(p), twos(p), places(p), sent(2 * p), found(2 * p)
        DATATYPE_TYPE :: pair, sends(p), receives(p)
        call MPI_Type_contiguous(2, MPI_INTEGER, pair IERR)
        call MPI_Type_commit(pair IERR)
        twos = 2
        places = [(8 * (i - 1), i = 1, p)] ! in bytes
        receives = MPI_INTEGER
        do i = 1, p
            pair_or_two(i) = merge(1, 2, mod(rank + i - 1, 2) == 1)
            sends(i) = MPI_INTEGER
            if (pair_or_two(i) == 1) sends(i) = pair
        end do
        sent = [(100 * rank + i, i = 1, 2 * p)]
        found = 0
        call MPI_Alltoallw(sent, pair_or_two, places, sends, found, twos, places, receives, &
                           comm IERR)
        call check('alltoallw', found(1:2*p-1:2), [(100 * (i - 1) + 2 * rank + 1, i = 1, p)])
        call check('alltoallw', found(2:2*p:2), [(100 * (i - 1) + 2 * rank + 2, i = 1, p)])
        call MPI_Alltoallw(MPI_IN_PLACE, twos, places, receives, sent, twos, places, receives, &
                           comm IERR)
        call check('alltoallw in place', sent, found)
        call MPI_Type_free(pair IERR)
    end subroutine

    ! A datatype with absolute addresses.
    subroutine from_bottom(block)
        integer, asynchronous :: block(2)
        integer(MPI_ADDRESS_KIND) :: address(1)
        integer :: lengths(1)
        DATATYPE_TYPE :: where_it_is
        if (rank == 0) block = [7, 8]
        lengths = 2
        call MPI_Get_address(block, address(1) IERR)
        call MPI_Type_create_hindexed(1, lengths, address, MPI_INTEGER, where_it_is IERR)
        call MPI_Type_commit(where_it_is IERR)
        call MPI_Bcast(MPI_BOTTOM, 1, where_it_is, 0, comm IERR)
        call MPI_Type_free(where_it_is IERR)
    end subroutine

    subroutine reductions(op)
        OP_TYPE, intent(in) :: op
        integer :: mine(2), total(2), one(1), blocks(p), counts(p)
        mine = [rank + 1, 1]
        total = 0
        call MPI_Reduce(mine, total, 2, MPI_INTEGER, op, p - 1, comm IERR)
        if (rank == p - 1) call check('reduce', total, [sum_to(p), p])
        total = mine
        if (rank == 0) then
            call MPI_Reduce(MPI_IN_PLACE, total, 2, MPI_INTEGER, op, 0, comm IERR)
            call check('reduce in place', total, [sum_to(p), p])
        else
            call MPI_Reduce(mine, total, 2, MPI_INTEGER, op, 0, comm IERR)
        end if
        call MPI_Allreduce(mine, total, 2, MPI_INTEGER, op, comm IERR)
        call check('allreduce', total, [sum_to(p), p])
        total = mine
        call MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_INTEGER, op, comm IERR)
        call check('allreduce in place', total, [sum_to(p), p])
        call MPI_Scan(mine, total, 2, MPI_INTEGER, op, comm IERR)
        call check('scan', total, [sum_to(rank + 1), rank + 1])
        total = mine
        call MPI_Scan(MPI_IN_PLACE, total, 2, MPI_INTEGER, op, comm IERR)
        call check('scan in place', total, [sum_to(rank + 1), rank + 1])
        call MPI_Exscan(mine, total, 2, MPI_INTEGER, op, comm IERR)
        if (rank > 0) call check('exscan', total, [sum_to(rank), rank])

        blocks = rank + 1
        call MPI_Reduce_scatter_block(blocks, one, 1, MPI_INTEGER, op, comm IERR)
        call check('reduce_scatter_block', one, [sum_to(p)])
        counts = 1
        call MPI_Reduce_scatter(blocks, one, counts, MPI_INTEGER, op, comm IERR)
        call check('reduce_scatter', one, [sum_to(p)])
        call MPI_Reduce_scatter(MPI_IN_PLACE, blocks, counts, MPI_INTEGER, op, comm IERR)
        call check('reduce_scatter in place', blocks(1:1), [sum_to(p)])
    end subroutine
end module

program fortran
    use checks
#if BINDING == 2
    use mpi
#elif BINDING == 3
    use mpi_f08
#endif
    implicit none
    OP_TYPE :: op
    integer :: provided, all_good
    character(8) :: how
    call get_command_argument(1, how)
    if (how == 'thread') then
        call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided IERR)
    else
        call MPI_Init(ierror)
    end if
    call MPI_Comm_dup(MPI_COMM_WORLD, comm IERR)
    call MPI_Comm_rank(comm, rank IERR)
    call MPI_Comm_size(comm, p IERR)
    call movers()
    call reductions(MPI_SUM)
    call MPI_Op_create(add, .true., op IERR)
    call reductions(op)
    call MPI_Op_free(op IERR)
    call MPI_Reduce(good, all_good, 1, MPI_INTEGER, MPI_SUM, 0, comm IERR)
    if (rank == 0) print '(a, i0)', 'good ', all_good
    call MPI_Comm_free(comm IERR)
    call MPI_Finalize(ierror)
end program
