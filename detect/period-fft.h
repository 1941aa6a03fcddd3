/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of real signals, for the period detector. See period-fft.c. */
#ifndef SL_DETECT_PERIOD_FFT_H
#define SL_DETECT_PERIOD_FFT_H

#include <stddef.h>

/* The smallest length that is at least n and that the functions below take: 2 * 2^a * 3^b * 5^c. */
size_t sl_fft_size(size_t n);

/*
 * power[k] = |X_k|^2 for k = 0 .. n/2 of the signal x[0 .. used-1], followed by zeros up to n.
 * work: 2 n floats. n is one that sl_fft_size() returns.
 */
void sl_fft_power(const float *x, size_t used, size_t n, float *power, float *work);

/*
 * The inverse for a power spectrum: circular autocorrelation, out[l] for lags l = 0 .. n/2, not
 * scaled by 1/n. power and out may be the same. work: 2 n floats.
 */
void sl_fft_correlation(const float *power, size_t n, float *out, float *work);

#endif
