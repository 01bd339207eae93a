/* Scan as `pieces` calls of Scan on n / pieces bytes each; see split.h. */
#include "split.h"

PL_SPLIT_ELEMENTS(scan);
