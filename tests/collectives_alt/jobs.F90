! Starts jobs.c, without libplumbline.so, and calls what that program calls on communicators that
! have ranks of both. usage: jobs_fortran PROGRAM
program jobs_fortran
    use mpi
    implicit none
    character(len=1000) :: other
    character(len=1000) :: words(4)
    integer :: ierror, rank, intercomm, both, part, errors(2)
    logical :: good = .true.

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call get_command_argument(1, other)
    words = [character(len=1000) :: '-u', 'LD_PRELOAD', other, ' ']
    call MPI_Comm_spawn('env', words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, intercomm, errors, ierror)
    call MPI_Intercomm_merge(intercomm, .false., both, ierror)
    call ask(both)
    call MPI_Comm_rank(both, rank, ierror)
    call MPI_Comm_split(both, mod(rank, 2), -rank, part, ierror)
    call ask(part)
    call MPI_Comm_free(part, ierror)
    call MPI_Comm_free(both, ierror)
    call MPI_Comm_disconnect(intercomm, ierror)
    if (rank == 0) print '(a)', merge('ok    ', 'not ok', good)
    call MPI_Finalize(ierror)

contains

    subroutine ask(comm)
        integer, intent(in) :: comm
        integer :: p, mine, total, from_root, i

        call MPI_Comm_size(comm, p, ierror)
        call MPI_Comm_rank(comm, mine, ierror)
        do i = 0, 2
            call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
            good = good .and. total == p*(p - 1)/2
            from_root = merge(i, -1, mine == 0)
            call MPI_Bcast(from_root, 1, MPI_INTEGER, 0, comm, ierror)
            good = good .and. from_root == i
            call MPI_Barrier(comm, ierror)
        end do
    end subroutine ask
end program jobs_fortran
