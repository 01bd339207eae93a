/* Sets of processing units: as text, and as the kernel has them. */
#include "check.h"

#include "units.h"

static void check_text(const char *list)
{
    char text[64];
    const struct pl_units units = units_of(list);
    pl_units_text(&units, text, sizeof text);
    CHECK_TEXT(text, list);
}

int main(void)
{
    char text[8];
    struct pl_units before, allowed, after;
    check_text("");
    check_text("0");
    check_text("0-3,8");
    check_text("1,3,5-6,1023-1024,8191");
    before = units_of("100-200,300");
    pl_units_text(&before, text, sizeof text); /* as much as there is room for */
    CHECK_TEXT(text, "100-200");
    CHECK(!pl_units_has(&before, -1) && !pl_units_has(&before, PL_UNITS));
    CHECK(pl_units_count(&before) == 102);

    /* What a thread is bound to does not change what it might be. */
    CHECK(pl_units_bound(&before) && pl_units_allowed(&allowed));
    int first = 0;
    while (!pl_units_has(&before, first))
        first++;
    CHECK(pl_units_has(&allowed, first) && pl_units_count(&allowed) >= pl_units_count(&before));
    CHECK(pl_units_bind(first) && pl_units_allowed(&after));
    CHECK(CPU_EQUAL_S(sizeof after.set, after.set, allowed.set));
    CHECK(pl_units_bound(&after) && pl_units_count(&after) == 1 && pl_units_has(&after, first));
    CHECK(!pl_units_bind(-1) && !pl_units_bind(PL_UNITS) && !pl_units_bind(PL_UNITS - 1));
    return check_done();
}
