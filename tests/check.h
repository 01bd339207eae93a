/* A plain main() program as a test: TAP on standard output, exit code 1 if a check failed.
 *
 *     int main(void)
 *     {
 *         CHECK(1 + 1 == 2);
 *         CHECK_TEXT("a", "a");
 *         return check_done();
 *     }
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

static int check_count, check_failures;

static inline int check_that(int holds, const char *what, const char *file, int line)
{
    check_count++;
    if (holds) {
        printf("ok %d - %s\n", check_count, what);
        return 1;
    }
    check_failures++;
    printf("not ok %d - %s\n# %s:%d\n", check_count, what, file, line);
    return 0;
}

#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

#define CHECK_TEXT(got, wanted)                                                                    \
    do {                                                                                           \
        if (!check_that(strcmp(got, wanted) == 0, #got, __FILE__, __LINE__))                       \
            printf("# got    %s\n# wanted %s\n", got, wanted);                                     \
    } while (0)

static inline int check_done(void)
{
    printf("1..%d\n", check_count);
    return check_failures > 0;
}

#endif
