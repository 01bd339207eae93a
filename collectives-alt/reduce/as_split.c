/* Reduce as `pieces` calls of Reduce on n / pieces bytes each; see split.h. */
#include "split.h"

PL_SPLIT_ELEMENTS(reduce);
