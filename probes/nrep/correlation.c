#include "nrep/correlation.h"

#include <math.h>

static double covariance(const double *values, int count, int lag)
{
    double sum = 0;
    for (int i = 0; i + lag < count; i++)
        sum += values[i] * values[i + lag];
    return sum;
}

double pl_correlation_time(const double *values, int count)
{
    double variance = covariance(values, count, 0), sum = 0;
    int lag = 0;
    if (!(variance > 0))
        return 1; /* constant: one value says it all */
    for (; lag + 1 < count; lag += 2) {
        double pair = covariance(values, count, lag) + covariance(values, count, lag + 1);
        if (pair <= 1e-12 * variance) /* 0 but for rounding */
            break;
        if (lag >= PL_CORRELATION_LAGS)
            return NAN;
        sum += pair / variance;
    }
    double tau = fmax(1, 2 * sum - 1);
    double lags = fmin(fmax(lag - 1, 0), 5 * tau); /* what lies further off adds next to nothing */
    return tau * (1 + (2 * lags + 1) / count);
}
