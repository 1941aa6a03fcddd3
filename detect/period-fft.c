/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fourier transforms of real signals: power spectrum and, from it, autocorrelation.
 *
 * A real signal of n samples is taken as n/2 complex ones, z_k = x_2k + i x_2k+1, transformed, and
 * taken apart again: with Z of z, m = n/2 and w = exp(-2 pi i / n),
 *
 *	X_k = (Z_k + conj Z_m-k) / 2 - i w^k (Z_k - conj Z_m-k) / 2
 *
 * Example: x = (1, 2, 3, 4), z = (1 + 2i, 3 + 4i), Z = (4 + 6i, -2 - 2i); X_0 = 10, X_1 = -2 + 2i,
 * X_2 = -2. The power is 100, 8, 4.
 *
 * The complex transform is Stockham's: decimation in frequency that sorts as it goes, from one
 * buffer to the other and back, a stage for each factor 4, 2, 3, 5. In a stage, sub-transforms
 * of length `len` lie interleaved, `stride` of them; the innermost loop goes over these, and
 * real and imaginary parts lie apart, so that the compiler makes vectors of it. Factors of unity
 * come from a rotation, renewed every few steps from the library's sine so that errors do not
 * add up: nothing to prepare or to keep.
 *
 * Autocorrelation is the inverse transform of the power spectrum (Wiener, Khinchin). That spectrum
 * is real and even, so is its transform, and forward and inverse are the same.
 *
 * O(n log n). Why not a library: KISS FFT of Debian takes 165 ms for what here takes a third of it
 * (10^6 samples: spectrum and autocorrelation of 1.5 10^6, with its three plans), and O(n^2) on
 * primes; FFTW is GPL.
 */
#include "detect/period-fft.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define RENEW 64 /* rotations */

struct spinner { /* exp(-2 pi i k / n) for k = 0, 1, ... */
	double re, im, step_re, step_im, angle;
	size_t k;
};

static void spin_begin(struct spinner *s, size_t n)
{
	s->angle = -2 * M_PI / (double)n;
	s->step_re = cos(s->angle);
	s->step_im = sin(s->angle);
	s->re = 1;
	s->im = 0;
	s->k = 0;
}

static inline void spin(struct spinner *s)
{
	double re = s->re * s->step_re - s->im * s->step_im;

	s->im = s->re * s->step_im + s->im * s->step_re;
	s->re = re;
	if (++s->k % RENEW == 0) {
		s->re = cos(s->angle * (double)s->k);
		s->im = sin(s->angle * (double)s->k);
	}
}

size_t sl_fft_size(size_t n)
{
	size_t half = n / 2 + n % 2;

	for (half = half ? half : 1;; half++) {
		size_t rest = half;

		while (rest % 2 == 0)
			rest /= 2;
		while (rest % 3 == 0)
			rest /= 3;
		while (rest % 5 == 0)
			rest /= 5;
		if (rest == 1)
			return 2 * half;
	}
}

struct pair { /* real and imaginary parts of a complex vector */
	float *re, *im;
};

/*
 * One stage of radix r: for each p, r inputs `part` = len/r * stride apart become r outputs
 * `stride` apart, the j-th turned by w^(p j).
 */
#define TURN(at, a_re, a_im, w_re, w_im)                      \
	do {                                                  \
		o_re[at] = (a_re) * (w_re) - (a_im) * (w_im); \
		o_im[at] = (a_re) * (w_im) + (a_im) * (w_re); \
	} while (0)

static void stage2(size_t len, size_t stride, struct pair x, struct pair y)
{
	size_t m = len / 2, part = m * stride;
	struct spinner s;

	spin_begin(&s, len);
	for (size_t p = 0; p < m; p++, spin(&s)) {
		float w_re = (float)s.re, w_im = (float)s.im;
		const float *restrict re = x.re + p * stride, *restrict im = x.im + p * stride;
		float *restrict o_re = y.re + 2 * p * stride, *restrict o_im =
								      y.im + 2 * p * stride;

		for (size_t q = 0; q < stride; q++) {
			float d_re = re[q] - re[q + part], d_im = im[q] - im[q + part];

			o_re[q] = re[q] + re[q + part];
			o_im[q] = im[q] + im[q + part];
			TURN(q + stride, d_re, d_im, w_re, w_im);
		}
	}
}

static void stage3(size_t len, size_t stride, struct pair x, struct pair y)
{
	const float sin60 = 0.866025403784438647f;
	size_t m = len / 3, part = m * stride;
	struct spinner s;

	spin_begin(&s, len);
	for (size_t p = 0; p < m; p++, spin(&s)) {
		float w_re = (float)s.re, w_im = (float)s.im;
		float w2_re = w_re * w_re - w_im * w_im, w2_im = 2 * w_re * w_im;
		const float *restrict re = x.re + p * stride, *restrict im = x.im + p * stride;
		float *restrict o_re = y.re + 3 * p * stride, *restrict o_im =
								      y.im + 3 * p * stride;

		for (size_t q = 0; q < stride; q++) {
			float b_re = re[q + part] + re[q + 2 * part];
			float b_im = im[q + part] + im[q + 2 * part];
			float c_re = sin60 * (re[q + part] - re[q + 2 * part]);
			float c_im = sin60 * (im[q + part] - im[q + 2 * part]);
			float h_re = re[q] - b_re / 2, h_im = im[q] - b_im / 2;

			o_re[q] = re[q] + b_re;
			o_im[q] = im[q] + b_im;
			TURN(q + stride, h_re + c_im, h_im - c_re, w_re, w_im);
			TURN(q + 2 * stride, h_re - c_im, h_im + c_re, w2_re, w2_im);
		}
	}
}

static void stage4(size_t len, size_t stride, struct pair x, struct pair y)
{
	size_t m = len / 4, part = m * stride;
	struct spinner s;

	spin_begin(&s, len);
	for (size_t p = 0; p < m; p++, spin(&s)) {
		float w_re = (float)s.re, w_im = (float)s.im;
		float w2_re = w_re * w_re - w_im * w_im, w2_im = 2 * w_re * w_im;
		float w3_re = w2_re * w_re - w2_im * w_im, w3_im = w2_re * w_im + w2_im * w_re;
		const float *restrict re = x.re + p * stride, *restrict im = x.im + p * stride;
		float *restrict o_re = y.re + 4 * p * stride, *restrict o_im =
								      y.im + 4 * p * stride;

		for (size_t q = 0; q < stride; q++) {
			float s_re = re[q] + re[q + 2 * part], s_im = im[q] + im[q + 2 * part];
			float d_re = re[q] - re[q + 2 * part], d_im = im[q] - im[q + 2 * part];
			float t_re = re[q + part] + re[q + 3 * part];
			float t_im = im[q + part] + im[q + 3 * part];
			float e_re = re[q + part] - re[q + 3 * part];
			float e_im = im[q + part] - im[q + 3 * part];

			o_re[q] = s_re + t_re;
			o_im[q] = s_im + t_im;
			TURN(q + stride, d_re + e_im, d_im - e_re, w_re, w_im);
			TURN(q + 2 * stride, s_re - t_re, s_im - t_im, w2_re, w2_im);
			TURN(q + 3 * stride, d_re - e_im, d_im + e_re, w3_re, w3_im);
		}
	}
}

static void stage5(size_t len, size_t stride, struct pair x, struct pair y)
{
	const float cos1 = 0.309016994374947424f, cos2 = -0.809016994374947424f;
	const float sin1 = 0.951056516295153572f, sin2 = 0.587785252292473129f;
	size_t m = len / 5, part = m * stride;
	struct spinner s;

	spin_begin(&s, len);
	for (size_t p = 0; p < m; p++, spin(&s)) {
		float w_re = (float)s.re, w_im = (float)s.im;
		float w2_re = w_re * w_re - w_im * w_im, w2_im = 2 * w_re * w_im;
		float w3_re = w2_re * w_re - w2_im * w_im, w3_im = w2_re * w_im + w2_im * w_re;
		float w4_re = w2_re * w2_re - w2_im * w2_im, w4_im = 2 * w2_re * w2_im;
		const float *restrict re = x.re + p * stride, *restrict im = x.im + p * stride;
		float *restrict o_re = y.re + 5 * p * stride, *restrict o_im =
								      y.im + 5 * p * stride;

		for (size_t q = 0; q < stride; q++) {
			float a_re = re[q + part] + re[q + 4 * part];
			float a_im = im[q + part] + im[q + 4 * part];
			float b_re = re[q + 2 * part] + re[q + 3 * part];
			float b_im = im[q + 2 * part] + im[q + 3 * part];
			float c_re = re[q + part] - re[q + 4 * part];
			float c_im = im[q + part] - im[q + 4 * part];
			float d_re = re[q + 2 * part] - re[q + 3 * part];
			float d_im = im[q + 2 * part] - im[q + 3 * part];
			float g_re = re[q] + cos1 * a_re + cos2 * b_re;
			float g_im = im[q] + cos1 * a_im + cos2 * b_im;
			float h_re = re[q] + cos2 * a_re + cos1 * b_re;
			float h_im = im[q] + cos2 * a_im + cos1 * b_im;
			float u_re = sin1 * c_re + sin2 * d_re, u_im = sin1 * c_im + sin2 * d_im;
			float v_re = sin2 * c_re - sin1 * d_re, v_im = sin2 * c_im - sin1 * d_im;

			o_re[q] = re[q] + a_re + b_re;
			o_im[q] = im[q] + a_im + b_im;
			TURN(q + stride, g_re + u_im, g_im - u_re, w_re, w_im);
			TURN(q + 2 * stride, h_re + v_im, h_im - v_re, w2_re, w2_im);
			TURN(q + 3 * stride, h_re - v_im, h_im + v_re, w3_re, w3_im);
			TURN(q + 4 * stride, g_re - u_im, g_im + u_re, w4_re, w4_im);
		}
	}
}

/* Of n complex numbers in x; the result is in the pair returned, one of the two. */
static struct pair transform(size_t n, struct pair x, struct pair y)
{
	size_t stride = 1;

	for (size_t len = n; len > 1;) {
		/* Five and three first: the loops of the long strides are the fast ones. */
		unsigned radix = len % 5 == 0 ? 5 : len % 3 == 0 ? 3 : len % 4 == 0 ? 4 : 2;
		struct pair swap = x;

		assert(len % radix == 0);
		switch (radix) {
		case 5:
			stage5(len, stride, x, y);
			break;
		case 4:
			stage4(len, stride, x, y);
			break;
		case 3:
			stage3(len, stride, x, y);
			break;
		default:
			stage2(len, stride, x, y);
		}
		len /= radix;
		stride *= radix;
		x = y;
		y = swap;
	}
	return x;
}

enum want { POWER, REAL };

static void real_transform(size_t n, struct pair x, struct pair y, enum want want, float *out)
{
	size_t m = n / 2;
	struct pair z = transform(m, x, y);
	struct spinner s;

	spin_begin(&s, n);
	for (size_t k = 0; k <= m; k++, spin(&s)) {
		size_t a = k == m ? 0 : k, b = k == 0 ? 0 : m - k;
		double e_re = ((double)z.re[a] + z.re[b]) / 2,
		       e_im = ((double)z.im[a] - z.im[b]) / 2;
		double o_re = ((double)z.im[a] + z.im[b]) / 2,
		       o_im = ((double)z.re[b] - z.re[a]) / 2;
		double re = e_re + s.re * o_re - s.im * o_im;
		double im = e_im + s.re * o_im + s.im * o_re;

		out[k] = (float)(want == POWER ? re * re + im * im : re);
	}
}

void sl_fft_power(const float *x, size_t used, size_t n, float *power, float *work)
{
	size_t m = n / 2, pairs = used / 2;
	struct pair a = { work, work + m }, b = { work + 2 * m, work + 3 * m };

	for (size_t i = 0; i < pairs; i++) {
		a.re[i] = x[2 * i];
		a.im[i] = x[2 * i + 1];
	}
	memset(a.re + pairs, 0, (m - pairs) * sizeof(float));
	memset(a.im + pairs, 0, (m - pairs) * sizeof(float));
	if (used % 2)
		a.re[pairs] = x[used - 1];
	real_transform(n, a, b, POWER, power);
}

void sl_fft_correlation(const float *power, size_t n, float *out, float *work)
{
	size_t m = n / 2;
	struct pair a = { work, work + m }, b = { work + 2 * m, work + 3 * m };

	for (size_t i = 0; i < m; i++) {
		size_t even = 2 * i, odd = 2 * i + 1;

		a.re[i] = power[even <= m ? even : n - even];
		a.im[i] = power[odd <= m ? odd : n - odd];
	}
	real_transform(n, a, b, REAL, out);
}
