/* Clock models: exact at 10^18 ns, inverse, merged; lines through offsets, with and without drift.
 */
#include "check.h"

#include "clock/fit.h"
#include "measure/random.h"

#include <math.h>
#include <stdlib.h>

#define NOW INT64_C(1795263906074254216)
#define SECOND INT64_C(1000000000)

static void arithmetic(void)
{
    struct pl_model identity = PL_MODEL_IDENTITY;
    CHECK(pl_model_apply(&identity, NOW) == NOW && pl_model_invert(&identity, NOW) == NOW);

    struct pl_model model = {NOW, -5 * SECOND + 7, 25e-6};
    CHECK(pl_model_apply(&model, NOW) == NOW - 5 * SECOND + 7);
    CHECK(pl_model_apply(&model, NOW + SECOND) == NOW - 4 * SECOND + 7 + 25000);
    int bad = 0;
    for (int64_t t = NOW - 3600 * SECOND; t < NOW + 3600 * SECOND; t += 777777777777)
        bad += llabs(pl_model_invert(&model, pl_model_apply(&model, t)) - t) > 1;
    CHECK(bad == 0);

    struct pl_model inner = {NOW, 3 * SECOND, -40e-6}, outer = {NOW + 9, -8 * SECOND, 17e-6};
    struct pl_model merged = pl_model_merge(&outer, &inner);
    bad = 0;
    for (int64_t t = NOW - 100 * SECOND; t < NOW + 100 * SECOND; t += 7777777777)
        bad += llabs(pl_model_apply(&merged, t) -
                     pl_model_apply(&outer, pl_model_apply(&inner, t))) > 2;
    CHECK(bad == 0);

    /* Merged with the identity, whose origin is far away: still exact near the other's origin. */
    merged = pl_model_merge(&model, &identity);
    CHECK(pl_model_apply(&merged, NOW + SECOND) == pl_model_apply(&model, NOW + SECOND));
    merged = pl_model_merge(&identity, &model);
    CHECK(pl_model_apply(&merged, NOW + SECOND) == pl_model_apply(&model, NOW + SECOND));
}

enum { POINTS = 50 };

/* Offsets of a clock that runs `slope` faster, over half a second; each delayed by some exponential
 * time on both ways, so that its offset is off by up to the excess of its bound. */
static struct pl_fit fit(uint64_t seed, double slope, int outliers, int64_t phase_ns)
{
    struct pl_random random = pl_random_stream(seed, 1, 2);
    struct pl_offset points[POINTS];
    for (int i = 0; i < POINTS; i++) {
        int64_t at = i * (SECOND / 2) / (POINTS - 1);
        double forth = -300 * log(1 - pl_random_unit(&random));
        double back = -100 * log(1 - pl_random_unit(&random));
        if (i % 10 < outliers)
            forth += 50000;
        if (i >= POINTS / 2)
            forth += (double)phase_ns;
        points[i].at_ns = NOW + at;
        points[i].offset_ns = 4 * SECOND + llround(slope * (double)at + (forth - back) / 2);
        points[i].bound_ns = 8000 + llround((forth + back) / 2);
    }
    return pl_fit_line(points, POINTS);
}

static void lines(void)
{
    int wrong = 0, flat = 0, far = 0, fooled = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct pl_fit drifting = fit(seed, 20e-6, 3, 0);
        wrong += fabs(drifting.model.slope - 20e-6) > 1e-6;
        far += llabs(pl_model_apply(&drifting.model, NOW + 5 * SECOND / 2) -
                     (NOW + 5 * SECOND / 2 + 4 * SECOND + 50000)) > 3000;
        flat += fit(seed, 0, 3, 0).model.slope == 0;
        /* A disturbance of half the time, 3 µs on one way: 3 ppm to a plain regression. */
        fooled += fit(seed, 0, 0, 3000).model.slope != 0;
    }
    CHECK(wrong == 0);
    CHECK(far == 0);
    CHECK(flat == 200);
    CHECK(fooled == 0);
    CHECK(fit(1, 0.5e-6, 0, 0).slope_error < 0.5e-6);

    struct pl_offset few[4];
    for (int i = 0; i < 4; i++)
        few[i] = (struct pl_offset){NOW + i * SECOND, i * 1000, 10};
    CHECK(pl_fit_line(few, 4).model.slope == 0);
    CHECK(pl_fit_line(few, 1).model.offset_ns == 0 && pl_fit_line(few, 1).model.origin_ns == NOW);
    struct pl_offset exact[5];
    for (int i = 0; i < 5; i++)
        exact[i] = (struct pl_offset){NOW + i * SECOND, i * 1000, 10};
    CHECK(fabs(pl_fit_line(exact, 5).model.slope - 1e-6) < 1e-12);
}

int main(void)
{
    arithmetic();
    lines();
    return check_done();
}
