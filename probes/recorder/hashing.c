/* Which of the compiled hashes is run. */
#include "hash.h"

pl_hash_function *pl_hash = pl_hash_plainly;

#ifdef __x86_64__
__attribute__((constructor)) static void choose(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        pl_hash = pl_hash_by_avx2;
}
#endif
