/* Which operations and datatypes a rule for MPI_Allreduce takes. Under a profile whose rules name
 * the canary, a replaced call fails; prints "NAME replaced" or "NAME left" for each. */
#include <mpi.h>
#include <stdio.h>

static int rank;

static void look(const char *name, MPI_Datatype type, MPI_Op op)
{
    char in[256] = {0}, out[256];
    int class = MPI_SUCCESS;
    const int rc = MPI_Allreduce(in, out, 1, type, op, MPI_COMM_WORLD);
    MPI_Error_class(rc, &class);
    if (rank == 0)
        printf("%s %s\n", name,
               class == MPI_ERR_UNSUPPORTED_OPERATION ? "replaced"
               : class == MPI_SUCCESS                 ? "left"
                                                      : "failed");
}

static void nothing(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Op user, ordered;
    MPI_Op_create(nothing, 1, &user);
    MPI_Op_create(nothing, 0, &ordered);
#define LOOK(type, op) look(#type " " #op, type, op)
    LOOK(MPI_INT, MPI_SUM);
    LOOK(MPI_INT, MPI_PROD);
    LOOK(MPI_INT, MPI_MIN);
    LOOK(MPI_INT, MPI_MAX);
    LOOK(MPI_INT, MPI_LAND);
    LOOK(MPI_INT, MPI_LXOR);
    LOOK(MPI_INT, MPI_BOR);
    LOOK(MPI_INT, MPI_BXOR);
    LOOK(MPI_INT, user);
    LOOK(MPI_INT, ordered);
    LOOK(MPI_2INT, MPI_MINLOC);
    LOOK(MPI_DOUBLE_INT, MPI_MAXLOC);
    LOOK(MPI_DOUBLE, MPI_SUM);
    LOOK(MPI_FLOAT, MPI_MAX);
    LOOK(MPI_UINT64_T, MPI_SUM);
    LOOK(MPI_C_DOUBLE_COMPLEX, MPI_SUM);
    LOOK(MPI_C_BOOL, MPI_LOR);
    LOOK(MPI_BYTE, MPI_BAND);
    LOOK(MPI_CHAR, user);
    MPI_Datatype derived, copy, real;
    MPI_Type_contiguous(3, MPI_INT, &derived);
    MPI_Type_dup(MPI_INT, &copy);
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &real);
    MPI_Type_commit(&derived);
    LOOK(derived, user);
    LOOK(copy, user);
    LOOK(real, MPI_SUM);
    MPI_Type_free(&copy);
    MPI_Type_free(&derived);
    MPI_Op_free(&ordered);
    MPI_Op_free(&user);
    MPI_Finalize();
    return 0;
}
