/* Functions that make communicators: their order numbers those of the same ranks. */
#include "recorder.h"

#define MAKES(name, PARAMETERS, GIVEN)                                                             \
    EXPORT int MPI_##name PARAMETERS                                                               \
    {                                                                                              \
        const int rc = PMPI_##name GIVEN;                                                          \
        if (rc == MPI_SUCCESS)                                                                     \
            pl_made(*made);                                                                        \
        return rc;                                                                                 \
    }

/* clang-format off */
MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
      (comm, group, tag, made))
MAKES(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), (comm, colour, key, made))
MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
      (comm, type, key, info, made))
MAKES(Cart_create, (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder,
                    MPI_Comm *made),
      (comm, n, dims, periods, reorder, made))
MAKES(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made))
MAKES(Graph_create, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                     MPI_Comm *made),
      (comm, nodes, index, edges, reorder, made))
MAKES(Dist_graph_create, (MPI_Comm comm, int n, const int sources[], const int degrees[],
                          const int targets[], const int weights[], MPI_Info info, int reorder,
                          MPI_Comm *made),
      (comm, n, sources, degrees, targets, weights, info, reorder, made))
MAKES(Dist_graph_create_adjacent,
      (MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
       const int targets[], const int out_weights[], MPI_Info info, int reorder, MPI_Comm *made),
      (comm, in, sources, in_weights, out, targets, out_weights, info, reorder, made))
MAKES(Intercomm_create, (MPI_Comm local, int leader, MPI_Comm peer, int other, int tag,
                         MPI_Comm *made),
      (local, leader, peer, other, tag, made))
MAKES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))
/* clang-format on */
