/*
 * base: numbers that are the same on every machine: random numbers, hashes, eigenvalues.
 */
#ifndef REGIMEN_BASE_NUMBERS_H
#define REGIMEN_BASE_NUMBERS_H

#include <regimen/base_status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- random numbers ------------------------------------------------------------------------ */

/**
 * Philox4x32-10 (Salmon et al., SC'11): a function of (key, counter) without hidden state. The
 * run's seed and a name give a stream its key; `step` and the element index are the counter. So a
 * draw is the same on any thread and after any resume.
 */
typedef struct rgm_rng {
    uint32_t key[2];
    uint64_t step; /* high half of the counter */
} rgm_rng;
rgm_rng rgm_rng_stream(uint64_t seed, const char *name, uint64_t step);
/** Four 32-bit words of block `block` of the stream. */
void rgm_rng_block(const rgm_rng *rng, uint64_t block, uint32_t out[4]);
/** Word `i` of the stream (word i % 4 of block i / 4). */
uint32_t rgm_rng_u32(const rgm_rng *rng, uint64_t i);
/** Uniform in [0, 1) with 24 / 53 random bits; element i. */
float rgm_rng_f32(const rgm_rng *rng, uint64_t i);
double rgm_rng_f64(const rgm_rng *rng, uint64_t i);
/** Standard normal (Box-Muller), element i. */
double rgm_rng_normal(const rgm_rng *rng, uint64_t i);
/** Uniform integer in [0, n), element i, n >= 1; its modulo bias is below n / 2^64. */
uint64_t rgm_rng_below(const rgm_rng *rng, uint64_t i, uint64_t n);
/** order[0..n) = a uniformly random permutation of 0..n-1. */
void rgm_rng_permutation(const rgm_rng *rng, int64_t *order, int64_t n);

/**
 * A key for draws that nobody may predict: the noise of private training. The stream is that of
 * ChaCha20 (Bernstein 2008), a function of (key, stream, block).
 */
typedef struct rgm_secret {
    uint32_t key[8];
} rgm_secret;
/** A key from the system's random source. RGM_ERR_IO: the source gives none; *out is then zeros. */
rgm_status rgm_secret_draw(rgm_secret *out);
/** The same seed gives the same key, to repeat a run. The key is no secret to anyone who knows the
 * seed. */
rgm_secret rgm_secret_from_seed(uint64_t seed);
/** Sixteen 32-bit words: block `block` of stream `stream`. */
void rgm_secret_block(const rgm_secret *secret, uint64_t stream, uint64_t block, uint32_t out[16]);
#define RGM_SECRET_NORMALS 8
/** The same block as standard normal numbers (Box-Muller). */
void rgm_secret_normals(const rgm_secret *secret, uint64_t stream, uint64_t block,
                        double out[RGM_SECRET_NORMALS]);

/* ---- hashing ------------------------------------------------------------------------------- */

uint64_t rgm_hash64(const void *data, size_t size); /* XXH3 */
/** CRC-32C (Castagnoli), in three streams where the processor has SSE4.2; begin with crc = 0. */
uint32_t rgm_crc32c(uint32_t crc, const void *data, size_t size);

/* ---- eigenvalues --------------------------------------------------------------------------- */

/**
 * The eigenvalues and eigenvectors of a symmetric matrix by Householder's reflections and
 * implicitly shifted rotations (Golub & Van Loan 2013, 8.3). It takes about 4/3 n^3 steps for the
 * values alone and 6 n^3 with the vectors. The error of each value is some 1e-15 of the largest
 * value, however small the value itself is. It uses one thread, allocates nothing and always gives
 * the same bits.
 *
 * @param values   [out] [n], ascending
 * @param vectors  [out] [n, n], one vector of length 1 in each row; NULL: values alone
 * @param a        [in] [n, n], destroyed
 * @param work     [3 n]
 *
 * Errors: RGM_ERR_NUMERIC (an entry of `a` is not finite).
 */
rgm_status rgm_symmetric_eigen(double *values, double *vectors, double *a, double *work, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
