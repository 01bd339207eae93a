/* How much less a series says than as many independent values. */
#ifndef PL_CORRELATION_H
#define PL_CORRELATION_H

/* Integrated autocorrelation time, 1 + 2 sum of rho_k over k > 0, of a series whose values add up
 * to 0; at least 1. NAN: the correlation does not end within PL_CORRELATION_LAGS values.
 *
 * The sum ends where that of two neighbouring autocorrelations is no longer positive (Geyer,
 * Practical Markov chain Monte Carlo, Statistical Science 7, 1992, section 3.3: initial positive
 * sequence; proven for reversible chains, elsewhere rather too long than too short). The mean was
 * taken from the series itself, which makes every autocorrelation too small by about tau / n: over
 * the W lags of the sum, at most 5 tau, a factor 1 + (2 W + 1) / n (Wolff, Monte Carlo errors with
 * less errors, Computer Physics Communications 156, 2004). */
double pl_correlation_time(const double *values, int count);

enum { PL_CORRELATION_LAGS = 2000 };

#endif
