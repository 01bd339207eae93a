/* A network that a fork is not safe on: a process ends that forks while MPI is up. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void refuse(void)
{
    static const char words[] = "unforkable: a fork after MPI_Init\n";
    int up, down;
    if (PMPI_Initialized(&up) || PMPI_Finalized(&down) || !up || down)
        return;
    if (write(STDERR_FILENO, words, sizeof words - 1) > 0)
        abort();
}

__attribute__((constructor)) static void await(void)
{
    pthread_atfork(refuse, NULL, NULL);
}
