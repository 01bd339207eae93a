#include "clock/fit.h"

#include "ascending.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST = 512, ROUNDS = 8 };

/* Distances from the first point, so that doubles hold them. */
struct sample {
    double x, y;
    double excess;       /* of the bound over the smallest */
    double base, weight; /* by the excess alone; by the distance from the line too */
};

struct line {
    double x_mean, y_mean, slope, spread; /* spread: Σ w (x - x̄)² */
};

static struct line least_squares(const struct sample *samples, int count)
{
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) {
        w += samples[i].weight;
        x += samples[i].weight * samples[i].x;
        y += samples[i].weight * samples[i].y;
    }
    x /= w;
    y /= w;
    for (int i = 0; i < count; i++) {
        double dx = samples[i].x - x;
        xx += samples[i].weight * dx * dx;
        xy += samples[i].weight * dx * (samples[i].y - y);
    }
    return (struct line){x, y, xx > 0 ? xy / xx : 0, xx};
}

static double residual(const struct line *line, const struct sample *sample)
{
    return sample->y - line->y_mean - line->slope * (sample->x - line->x_mean);
}

/* New weights; returns the sum of weighted squares of the residuals, and how many points count. */
static double reweigh(const struct line *line, struct sample *samples, int count, int *counting)
{
    double sizes[MOST] = {0}, squares = 0;
    for (int i = 0; i < count; i++)
        sizes[i] = fabs(residual(line, &samples[i])) * sqrt(samples[i].base);
    qsort(sizes, (size_t)count, sizeof *sizes, pl_by_real);
    double cut = 4.685 * sizes[count / 2] / 0.6745;
    *counting = 0;
    for (int i = 0; i < count; i++) {
        double r = residual(line, &samples[i]);
        double u = cut > 0 ? r * sqrt(samples[i].base) / cut : 0;
        samples[i].weight = fabs(u) < 1 ? samples[i].base * (1 - u * u) * (1 - u * u) : 0;
        squares += samples[i].weight * r * r;
        *counting += samples[i].weight > 0;
    }
    return squares;
}

/* Weights by excess; timers add some tens of nanoseconds to every excess. */
static void weigh(struct sample *samples, int count)
{
    const double grain = 50;
    double excesses[MOST] = {0};
    for (int i = 0; i < count; i++)
        excesses[i] = samples[i].excess;
    qsort(excesses, (size_t)count, sizeof *excesses, pl_by_real);
    for (int i = 0; i < count; i++) {
        samples[i].excess += grain - excesses[0];
        double spread = samples[i].excess + excesses[count / 4] - excesses[0];
        samples[i].base = samples[i].weight = 1 / (spread * spread);
    }
}

/* No flat line passes within the excess of every point. */
static bool not_flat(const struct sample *samples, int count)
{
    double low = -INFINITY, high = INFINITY;
    for (int i = 0; i < count; i++) {
        low = fmax(low, samples[i].y - samples[i].excess);
        high = fmin(high, samples[i].y + samples[i].excess);
    }
    return low > high;
}

/* The 0.9995 quantile of Student's t (Abramowitz and Stegun, 26.7.5), from that of the normal
 * distribution. */
static double student(int freedom)
{
    const double z = 3.2905267, z2 = z * z, v = freedom;
    return z * (1 + (z2 + 1) / (4 * v) + ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
                (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v));
}

struct pl_fit pl_fit_line(const struct pl_offset *points, int count)
{
    struct sample samples[MOST] = {{0}};
    struct line line = {0};
    double squares = 0, error = INFINITY;
    int counting = 0;

    if (count > MOST)
        count = MOST;
    for (int i = 0; i < count; i++) {
        samples[i].x = (double)(points[i].at_ns - points[0].at_ns);
        samples[i].y = (double)(points[i].offset_ns - points[0].offset_ns);
        samples[i].excess = (double)points[i].bound_ns;
    }
    weigh(samples, count);
    for (int round = 0; round < ROUNDS; round++) {
        line = least_squares(samples, count);
        squares = reweigh(&line, samples, count, &counting);
    }
    if (counting >= 5 && line.spread > 0)
        error = student(counting - 2) * sqrt(squares / (counting - 2) / line.spread);
    if (!(fabs(line.slope) > error && not_flat(samples, count)))
        line.slope = 0;
    return (struct pl_fit){
        .model = {.origin_ns = points[0].at_ns + llround(line.x_mean),
                  .offset_ns = points[0].offset_ns + llround(line.y_mean),
                  .slope = line.slope},
        .slope_error = error,
    };
}
