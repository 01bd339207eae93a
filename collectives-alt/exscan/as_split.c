/* Exscan as `pieces` calls of Exscan on n / pieces bytes each; see split.h. */
#include "split.h"

PL_SPLIT_ELEMENTS(exscan);
