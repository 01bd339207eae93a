/* The variants see nodes through MPI_Comm_split_type alone. Here the linker leads that call to a
 * function that puts ranks on nodes as the communicator's name says (--wrap). */
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

int __real_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out);
int __wrap_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out);

/* -1: the machine's own nodes. */
static int node_of(const char *name, int rank, int p)
{
    if (strcmp(name, "pairs") == 0) /* in order; one short node with an odd number */
        return rank / 2;
    if (strcmp(name, "spread") == 0) /* round robin over three */
        return rank % 3;
    if (strcmp(name, "reversed") == 0) /* two blocks, the second one larger */
        return rank > p / 3;
    return -1;
}

int __wrap_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, rank, p;
    MPI_Comm_get_name(comm, name, &length);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    const int node = node_of(name, rank, p);
    return node < 0 || type != MPI_COMM_TYPE_SHARED
               ? __real_PMPI_Comm_split_type(comm, type, key, info, out)
               : PMPI_Comm_split(comm, node, key, out);
}

static struct group group_of(const char *name, int color, int key, int least, int most)
{
    struct group group = {.name = name, .least = least, .most = most};
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &group.comm);
    MPI_Comm_set_name(group.comm, name);
    MPI_Comm_set_errhandler(group.comm, MPI_ERRORS_RETURN);
    return group;
}

int groups_make(struct group groups[GROUPS_MAX])
{
    int p, rank, count = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    groups[count++] = group_of("whole", 0, rank, p, p);
    if (p > 1)
        groups[count++] = group_of("reversed", 0, -rank, p, p);
    if (p > 2) {
        groups[count++] = group_of("parity", rank % 2, -rank, p / 2, (p + 1) / 2);
        groups[count++] = group_of("pairs", 0, rank, p, p);
        groups[count++] = group_of("spread", 0, rank, p, p);
    }
    return count;
}

void groups_free(struct group groups[GROUPS_MAX], int count)
{
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&groups[i].comm);
}
