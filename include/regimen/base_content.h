/*
 * base: files by their content. SHA-256 and HMAC-SHA256 (FIPS 180-4, RFC 2104), and a store that
 * has each content once, under the name of its hash:
 *
 *     <store>/ba/7816bf8f01cfea...   mode 0444, synced before it has that name
 *
 *     rgm_content_put()      a file's bytes into the store; the same bytes twice take room once
 *     rgm_content_place()    a file of the store under a name outside of it
 *     rgm_content_sweep()    what no placed file needs any more
 */
#ifndef REGIMEN_BASE_CONTENT_H
#define REGIMEN_BASE_CONTENT_H

#include <regimen/base_files.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- hashes -------------------------------------------------------------------------------- */

/** Hexadecimal digits, small, with the zero behind them. */
#define RGM_SHA256_ROOM 65
/** The hash of some bytes as text. */
void rgm_sha256_text(char out[RGM_SHA256_ROOM], const void *data, size_t size);
/** HMAC-SHA256 of some bytes as text: who knows the key can tell that they were not changed. */
void rgm_hmac_sha256_text(char out[RGM_SHA256_ROOM], const void *key, size_t key_size,
                          const void *data, size_t size);

/**
 * The hash and the size of a file, read in pieces.
 *
 * @param size  [out] bytes; NULL: not wanted
 *
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO (a pipe, too), RGM_ERR_NOMEM.
 */
rgm_status rgm_file_sha256(char out[RGM_SHA256_ROOM], int64_t *size, const char *path);

/* ---- a store ------------------------------------------------------------------------------- */

/**
 * Copy a file's bytes into a store, whose folders are made. Bytes that are there already are
 * compared, and replaced where the store's are damaged. Whoever is killed in the middle leaves a
 * file that no name leads to; rgm_content_sweep() removes it.
 *
 * @param sha256  [out] what it is found by
 * @param size    [out] bytes; NULL: not wanted
 * @param path    [in] a plain file; a symbolic link is not followed
 *
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM. Processes: any number at once.
 */
rgm_status rgm_content_put(char sha256[RGM_SHA256_ROOM], int64_t *size, const char *store,
                           const char *path);
/**
 * Give a file of the store a name outside of it: a link where the file system can, else a copy. So
 * it takes no room of its own; nobody may write into it.
 *
 * @param to  [in] nothing is there yet; its folder is
 *
 * Errors: RGM_ERR_NOT_FOUND (the store has no such file), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_content_place(const char *store, const char *sha256, const char *to);
/**
 * Remove the files of a store that have no name outside of it, and what killed processes left. Only
 * who keeps others from rgm_content_put() may call this: what was put and not yet placed goes.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM. No store is no error.
 */
rgm_status rgm_content_sweep(const char *store);

#ifdef __cplusplus
}
#endif
#endif
