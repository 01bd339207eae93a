/* The timer `papi` of a build without PAPI: refused with a remedy, never another timer in its
 * place. */
#include "check.h"

#undef PL_PAPI
#define pl_clock_papi without_papi
#include "clock/papi.c"

int main(void)
{
    CHECK_TEXT(without_papi.name, "papi");
    CHECK(without_papi.now_ns == NULL);
    CHECK(pl_clock_missing(&without_papi) != NULL);
    CHECK(strstr(without_papi.missing(), "install libpapi-dev") != NULL);
    return check_done();
}
