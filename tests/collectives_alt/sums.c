/* Sums of vectors by pl_combine, which computes those of few elements itself: of three datatypes,
 * exactly `count` elements, few ones at any address. TAP; one rank. */
#include "../check.h"
#include "vectors.h"

enum { MOST = 40, FEW = 16 };

/* Element i of the sum is `first` + i of the one operand and 2 * i of the other one. */
#define IS_SUM(Type)                                                                               \
    static bool is_sum_of_##Type(MPI_Datatype type, int count, int shift, Type first)              \
    {                                                                                              \
        const struct pl_call call = {.recvtype = type, .op = MPI_SUM};                             \
        char in[(MOST + 1) * sizeof(Type)], inout[(MOST + 1) * sizeof(Type)];                      \
        bool good = true;                                                                          \
        for (int i = 0; i < MOST; i++) {                                                           \
            const Type one = (Type)(first + (Type)i), other = (Type)(2 * i);                       \
            memcpy(in + shift + (size_t)i * sizeof(Type), &one, sizeof one);                       \
            memcpy(inout + shift + (size_t)i * sizeof(Type), &other, sizeof other);                \
        }                                                                                          \
        good = pl_combine(&call, in + shift, inout + shift, count) == MPI_SUCCESS;                 \
        for (int i = 0; i < MOST; i++) {                                                           \
            const Type wanted = (Type)(2 * i) + (i < count ? (Type)(first + (Type)i) : 0);         \
            good = good &&                                                                         \
                   memcmp(inout + shift + (size_t)i * sizeof(Type), &wanted, sizeof wanted) == 0;  \
        }                                                                                          \
        return good;                                                                               \
    }
IS_SUM(double)
IS_SUM(float)
IS_SUM(unsigned)

int main(int argc, char **argv)
{
    bool doubles = true, floats = true, integers = true;
    MPI_Init(&argc, &argv);
    for (int count = 0; count <= MOST; count++)
        for (int shift = 0; shift < (count <= FEW ? 2 : 1); shift++) {
            doubles = doubles && is_sum_of_double(MPI_DOUBLE, count, shift, -7.25);
            floats = floats && is_sum_of_float(MPI_FLOAT, count, shift, 0.5f);
            integers = integers && is_sum_of_unsigned(MPI_INT, count, shift, 0x7ffffff0u);
        }
    MPI_Finalize();
    CHECK(doubles);
    CHECK(floats);
    CHECK(integers);
    return check_done();
}
