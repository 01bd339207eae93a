/* Stopping rules: what each criterion says of series whose truth is known, rules as text, totals.
 *
 * Coverage of the median's interval is counted over many series with seeds of their own: the counts
 * are the same in every run. */
#include "check.h"

#include "measure/random.h"
#include "nrep/correlation.h"
#include "nrep/nrep.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 2000 };
static int64_t ns[MOST];
static double room[2 * MOST];

static double value_of(const char *name, const int64_t *values, int count, int window)
{
    for (int i = 0; i < pl_criterion_count; i++)
        if (strcmp(pl_criteria[i]->name, name) == 0)
            return pl_criteria[i]->value(values, count, window, room);
    return -1;
}

static double normal(struct pl_random *random) /* Box and Muller */
{
    double radius = sqrt(-2 * log(1 - pl_random_unit(random)));
    return radius * cos(2 * acos(-1) * pl_random_unit(random));
}

/* A stationary AR(1) series of unit variance, exp'ed: median 1000000 ns, spread 10 %. */
static void series(struct pl_random *random, double phi, int count)
{
    double x = normal(random);
    for (int i = 0; i < count; i++) {
        ns[i] = llround(1e6 * exp(0.1 * x));
        x = phi * x + sqrt(1 - phi * phi) * normal(random);
    }
}

static void check_simple(void)
{
    const int64_t five[] = {10, 12, 11, 13, 14}; /* mean 12, s = sqrt(2.5) */
    CHECK(fabs(value_of("rse", five, 5, 0) - sqrt(2.5) / sqrt(5) / 12) < 1e-12);
    const int64_t outlier[] = {10, 12, 11, 13, 14, 100000};
    CHECK(fabs(value_of("rse", outlier, 6, 0) - sqrt(2.5) / sqrt(5) / 12) < 1e-12);
    /* Of 1 and 3: mean 2, s = sqrt(2). Nothing is left out of ten equal values and a large one. */
    const int64_t two[] = {1, 3};
    CHECK(fabs(value_of("rse_plain", two, 2, 0) - 0.5) < 1e-12);
    CHECK(fabs(value_of("rse_plain", five, 5, 0) - sqrt(2.5) / sqrt(5) / 12) < 1e-12);
    CHECK(value_of("rse_plain", outlier, 6, 0) > 0.9);
    /* Running medians 10, 11, 11 (the last three of five). */
    const int64_t medians[] = {10, 12, 8, 12, 11};
    double mean = (10 + 11 + 11) / 3.0;
    CHECK(fabs(value_of("cov_median", medians, 5, 3) - sqrt(1 / 3.0) / mean) < 1e-12);
    /* Running means 10, 11, 12 of 10, 12, 14. */
    const int64_t means[] = {10, 12, 14};
    CHECK(fabs(value_of("cov_mean", means, 3, 3) - 1.0 / 11) < 1e-12);
    CHECK(fabs(value_of("cov_mean_plain", means, 3, 3) - 1.0 / 11) < 1e-12);
    /* Means 12 and 16678.3 of the last two: filtered they are 12 and 12. */
    CHECK(fabs(value_of("cov_mean", outlier, 6, 2)) < 1e-12);
    CHECK(value_of("cov_mean_plain", outlier, 6, 2) > 1);

    /* Medians 10, 20, 10, 20, 15 of blocks of three: mean 15, s = 5. */
    const int64_t blocks[] = {9, 10, 99, 20, 1, 21, 10, 10, 10, 20, 20, 20, 14, 15, 16, 7};
    CHECK(fabs(value_of("block_medians", blocks, 16, 3) - 5 / sqrt(5) / 15) < 1e-12);
    CHECK(isnan(value_of("block_medians", blocks, 8, 3)));

    const int64_t zeros[30] = {0};
    for (int i = 0; i < pl_criterion_count; i++) {
        CHECK(isnan(pl_criteria[i]->value(five, 0, 3, room)));
        CHECK(isnan(pl_criteria[i]->value(five, 1, 3, room)));
        CHECK(isnan(pl_criteria[i]->value(zeros, 30, 3, room))); /* relative to nothing */
    }
    CHECK(isnan(value_of("cov_mean", five, 5, 6)) && isnan(value_of("cov_median", five, 5, 6)));
    for (int i = 0; i < 40; i++)
        ns[i] = 700;
    for (int i = 0; i < pl_criterion_count; i++)
        CHECK(pl_criteria[i]->value(ns, 40, pl_criteria[i]->of_blocks ? 4 : 20, room) == 0);
}

/* tau of AR(1) is (1 + phi) / (1 - phi). */
static void check_correlation_time(void)
{
    static const double phis[] = {0, 0.5, 0.8};
    static double centred[MOST];
    for (size_t k = 0; k < sizeof phis / sizeof *phis; k++) {
        double phi = phis[k], sum = 0;
        struct pl_random random = pl_random_stream(7, k, 0);
        enum { SERIES = 200 };
        for (int i = 0; i < SERIES; i++) {
            double x = normal(&random), mean = 0;
            for (int t = 0; t < MOST; t++) {
                centred[t] = x;
                mean += x / MOST;
                x = phi * x + sqrt(1 - phi * phi) * normal(&random);
            }
            for (int t = 0; t < MOST; t++)
                centred[t] -= mean;
            sum += pl_correlation_time(centred, MOST) / SERIES;
        }
        CHECK(fabs(sum / ((1 + phi) / (1 - phi)) - 1) < 0.1);
    }
    for (int t = 0; t < MOST; t++)
        centred[t] = t % 2 ? 1 : -1; /* says more than independent values: not counted */
    CHECK(pl_correlation_time(centred, MOST) < 1.01);
}

/* The interval at ranks of independent samples, as it is usually computed. */
static bool naive_covers(int count, double truth)
{
    int below = 0;
    double reach = 0.98 * sqrt(count);
    for (int i = 0; i < count; i++)
        below += (double)ns[i] < truth;
    return below >= (int)floor(count / 2.0 - reach) && below < (int)ceil(count / 2.0 + 1 + reach);
}

/* Is the sample median as near to the truth as the half width says? */
static bool covers(int count, double value, double truth)
{
    int64_t sorted[MOST];
    memcpy(sorted, ns, (size_t)count * sizeof *sorted);
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && sorted[j] < sorted[j - 1]; j--) {
            int64_t larger = sorted[j - 1];
            sorted[j - 1] = sorted[j];
            sorted[j] = larger;
        }
    double median = (double)(sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    return fabs(median - truth) <= value * median;
}

static void check_coverage(void)
{
    static const struct {
        double phi;
        int count;
        double naive_at_most;
    } worlds[] = {{0, 50, 1}, {0, 400, 1}, {0.5, 200, 0.88}, {0.8, 400, 0.7}};
    enum { SERIES = 1000 };
    for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
        struct pl_random random = pl_random_stream(11, w, 0);
        int honest = 0, naive = 0, silent = 0;
        for (int i = 0; i < SERIES; i++) {
            series(&random, worlds[w].phi, worlds[w].count);
            double value = value_of("median_ci", ns, worlds[w].count, 0);
            silent += isnan(value);
            honest += !isnan(value) && covers(worlds[w].count, value, 1e6);
            naive += naive_covers(worlds[w].count, 1e6);
        }
        printf("  phi %.1f, n %d: honest %d, naive %d, silent %d of %d\n", worlds[w].phi,
               worlds[w].count, honest, naive, silent, SERIES);
        CHECK(honest >= (int)(0.93 * (SERIES - silent)) && silent < SERIES / 10);
        CHECK(naive <= (int)(worlds[w].naive_at_most * SERIES));
        if (worlds[w].phi == 0)
            CHECK(naive >= (int)(0.93 * SERIES));
    }
}

/* Stopped by the rule, as the probe does it: most medians are within the threshold of the truth. A
 * rule that takes the samples for independent (rse) stops far too early on the same series. */
static void check_stopping(void)
{
    enum { SERIES = 300 };
    char why[200];
    struct pl_nrep_rule honest = {.least = 20, .step = 10, .most = MOST}, plain = honest;
    double values[PL_NREP_CONDITIONS] = {1};
    int hits = 0, plain_hits = 0, ended = 0;
    CHECK(pl_nrep_parse(&honest, "median_ci:0.02", why, sizeof why));
    CHECK(pl_nrep_parse(&plain, "rse:0.0102", why, sizeof why)); /* 1.96 rse = 2 % */
    struct pl_random random = pl_random_stream(13, 0, 0);
    for (int i = 0; i < SERIES; i++) {
        int count = 0, plain_count = 0;
        series(&random, 0.8, MOST);
        for (int more; (more = pl_nrep_next(&honest, count)) > 0;) {
            count += more;
            if (pl_nrep_met(&honest, ns, count, honest.step, values, room))
                break;
        }
        ended += values[0] < 0.02;
        hits += covers(count, 0.02, 1e6);
        for (int more; (more = pl_nrep_next(&plain, plain_count)) > 0;) {
            plain_count += more;
            if (pl_nrep_met(&plain, ns, plain_count, plain.step, values, room))
                break;
        }
        plain_hits += covers(plain_count, 0.02, 1e6);
    }
    printf("  stopped by median_ci: %d of %d within 2 %%, by rse: %d\n", hits, SERIES, plain_hits);
    CHECK(ended == SERIES);
    CHECK(hits >= (int)(0.88 * SERIES)); /* looking again and again costs some of the 95 % */
    CHECK(plain_hits <= (int)(0.65 * SERIES));
}

static void check_totals(void)
{
    const struct pl_nrep_rule rule = {.least = 20, .step = 10, .most = 47};
    static const int totals[] = {20, 30, 40, 47, 47};
    int taken = 0;
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        CHECK((taken += pl_nrep_next(&rule, taken)) == totals[i]);
    const struct pl_nrep_rule once = {.least = 5, .step = 1, .most = 5};
    CHECK(pl_nrep_next(&once, 0) == 5 && pl_nrep_next(&once, 5) == 0);
}

static int refused(const char *text, const char *part)
{
    struct pl_nrep_rule rule = {0};
    char why[300] = "";
    bool good = !pl_nrep_parse(&rule, text, why, sizeof why) && strstr(why, part) != NULL;
    if (!good)
        printf("# %s: %s\n", text, why);
    return good;
}

static void check_text(void)
{
    struct pl_nrep_rule rule = {.least = 20, .step = 10, .most = 1000};
    char why[300];
    CHECK(pl_nrep_parse(&rule, "rse:0.025,cov_mean:0.01/30,cov_median:1e-3,median_ci:.5", why,
                        sizeof why) == false);
    CHECK(pl_nrep_parse(&rule, "rse:0.025,cov_mean:0.01/30,cov_median:1e-3,median_ci:0.5", why,
                        sizeof why));
    CHECK(rule.count == 4 && rule.least == 20 && rule.most == 1000);
    CHECK_TEXT(rule.conditions[1].criterion->name, "cov_mean");
    CHECK(rule.conditions[0].threshold == 0.025 && rule.conditions[0].window == 0);
    CHECK(rule.conditions[1].window == 30 && rule.conditions[2].window == 20);
    CHECK(rule.conditions[2].threshold == 1e-3 && rule.conditions[3].threshold == 0.5);

    CHECK(refused("", "there are rse rse_plain cov_mean cov_mean_plain cov_median"));
    CHECK(refused("rse", "criterion:threshold"));
    CHECK(refused("variance:0.1", "there are rse"));
    CHECK(refused("rse:0.1,", "criterion:threshold"));
    CHECK(refused("rse:0", "above 0"));
    CHECK(refused("rse:-1", "above 0"));
    CHECK(refused("rse:nan", "above 0"));
    CHECK(refused("rse:0x1p-3", "above 0"));
    CHECK(refused("rse:1e999", "above 0"));
    CHECK(refused("rse:0.1,rse:0.2", "twice"));
    CHECK(refused("rse:0.1/20", "have a window"));
    CHECK(refused("cov_mean:0.1/1", "from 2"));
    CHECK(refused("cov_mean:0.1/2.5", "from 2"));
    CHECK(refused("cov_mean:0.1/", "from 2"));
    CHECK(refused("a_name_that_is_longer_than_any_criterion_could_possibly_be_written_here:0.1",
                  "there are rse"));
}

int main(void)
{
    check_simple();
    check_correlation_time();
    check_coverage();
    check_stopping();
    check_totals();
    check_text();
    return check_done();
}
