/* Allreduce as `pieces` calls of Allreduce on n / pieces bytes each; see split.h. */
#include "split.h"

PL_SPLIT_ELEMENTS(allreduce);
