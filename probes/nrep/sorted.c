#include "nrep/sorted.h"

#include "ascending.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pl_sorted_fill(double *sorted, const int64_t *ns, int count)
{
    for (int i = 0; i < count; i++)
        sorted[i] = (double)ns[i];
    qsort(sorted, (size_t)count, sizeof *sorted, pl_by_real);
}

/* Index of the first value that is greater. */
static int upper_bound(const double *sorted, int count, double value)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle] > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void pl_sorted_insert(double *sorted, int count, double value)
{
    int at = upper_bound(sorted, count, value);
    memmove(sorted + at + 1, sorted + at, (size_t)(count - at) * sizeof *sorted);
    sorted[at] = value;
}

double pl_sorted_quantile(const double *sorted, int count, double share)
{
    double position = share * (count - 1);
    int below = (int)position;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

static struct pl_spread spread_of(const double *values, int count)
{
    struct pl_spread spread = {.count = count};
    double squares = 0;
    for (int i = 0; i < count; i++)
        spread.mean += values[i];
    spread.mean /= count;
    for (int i = 0; i < count; i++)
        squares += (values[i] - spread.mean) * (values[i] - spread.mean);
    if (count > 1)
        spread.deviation = sqrt(squares / (count - 1));
    return spread;
}

struct pl_spread pl_sorted_filtered(const double *sorted, int count)
{
    double low = pl_sorted_quantile(sorted, count, 0.25);
    double high = pl_sorted_quantile(sorted, count, 0.75);
    double reach = 1.5 * (high - low);
    int first = 0, end = upper_bound(sorted, count, high + reach);
    while (first < end && sorted[first] < low - reach)
        first++;
    return spread_of(sorted + first, end - first);
}

double pl_variation(const double *values, int count)
{
    if (count < 2)
        return NAN;
    struct pl_spread spread = spread_of(values, count);
    return spread.mean > 0 ? spread.deviation / spread.mean : NAN;
}

double pl_running_variation(const int64_t *ns, int count, int window, double *room,
                            double (*statistic)(const double *sorted, int count))
{
    double *sorted = room, *running = room + count;
    if (count < window)
        return NAN;
    int known = count - window;
    pl_sorted_fill(sorted, ns, known);
    for (int i = 0; i < window; i++, known++) {
        pl_sorted_insert(sorted, known, (double)ns[known]);
        running[i] = statistic(sorted, known + 1);
    }
    return pl_variation(running, window);
}
