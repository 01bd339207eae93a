/* Libraries that an MPI library may bring along too, in whatever version: MVAPICH2 has an hwloc 1
 * inside and shows it. The probe is not linked with them. What is loaded here finds its own
 * functions before all others, and nobody else finds them. */
#ifndef PL_APART_H
#define PL_APART_H

#include <stddef.h>

/* Looks `count` functions up by name; `functions` is a structure of pointers to them, in the same
 * order. `file` is looked for in `folder`, then where the loader looks. NULL, or why there is none.
 */
const char *pl_apart(const char *file, const char *folder, const char *const *names, size_t count,
                     void *functions);

#endif
