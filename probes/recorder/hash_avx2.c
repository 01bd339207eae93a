/* hash.c for processors with AVX2 and FMA: see its flags in probes/Makefile. */
#ifdef __AVX2__
#define PL_HASH pl_hash_by_avx2
#include "hash.c"
#endif
