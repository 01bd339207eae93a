/* Legal values as a description lists them. */
#include "check.h"

#include "system/choices.h"

static const char several[] = "Variable to select a thing\n"
                              "auto - Internal selection (or a file)\n"
                              "brucks             - Force brucks\n"
                              "k_brucks - Force it\n"
                              "and a line that goes on";

int main(void)
{
    char name[16];
    CHECK(pl_choices_count(several) == 3);
    CHECK(pl_choices_name(several, 0, name, sizeof name));
    CHECK_TEXT(name, "auto");
    CHECK(pl_choices_name(several, 1, name, sizeof name));
    CHECK_TEXT(name, "brucks");
    CHECK(pl_choices_name(several, 2, name, 3)); /* cut */
    CHECK_TEXT(name, "k_");
    CHECK(!pl_choices_name(several, 3, name, sizeof name));
    CHECK(pl_choices_count("") == 0);
    CHECK(pl_choices_count(
              "k value - of a tree\nauto - of the first line none, of one more none") == 0);
    CHECK(pl_choices_count("size\n-1 - by message\n -x - no name\na-b - no name") == 0);
    return check_done();
}
