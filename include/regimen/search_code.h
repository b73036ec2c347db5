/*
 * search: the code of a search. The files that its `entrypoint` names, and those that `include`
 * adds, as they are when the search begins, so that every trial is of the same code whatever is
 * changed meanwhile.
 *
 *     rgm_code code;
 *     rgm_code_collect(&code, file, "/home/me/search");      [python3, train.py]: train.py
 *     rgm_code_copy(&code, "/experiments/1/code", NULL, true);
 *     rgm_code_clear(&code);
 */
#ifndef REGIMEN_SEARCH_CODE_H
#define REGIMEN_SEARCH_CODE_H

#include <regimen/search_file.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RGM_CODE_FILES = 10000,    /* at most, beside a shared object */
    RGM_CODE_BYTES = 95 << 20, /* of them together                */
    RGM_CODE_OBJECT = 1 << 30  /* bytes of a shared object        */
};

typedef struct rgm_code_file {
    char *path; /* below the code's folder: "train.py", "lib/net.py" */
    int64_t size;
    bool is_executable;
    char hash[17]; /* rgm_hash64() of the bytes, in hexadecimal */
    char *data;    /* [size]; NULL: not loaded */
} rgm_code_file;

/** The files of a search, by path. {0}: none. */
typedef struct rgm_code {
    rgm_code_file *files; /* [count] in the order of the bytes of their paths */
    int64_t count, capacity;
    int64_t bytes; /* of all files */
    char hash[17]; /* of a file that is alone its own, else of all paths, hashes and modes; "":
                      there are no files */
} rgm_code;

/**
 * Load the files of a search: the shared object of its entrypoint by its name without folders; of a
 * command each word that is the relative path of a file below the code's folder; and what `include`
 * matches there, folders with all that lies in them, apart from __pycache__, *.pyc and what begins
 * with a dot.
 *
 * @param out             [out] cleared with rgm_code_clear(), after an error too
 * @param working_folder  [in] in which a relative entrypoint and a relative code_folder lie
 *
 * Errors: RGM_ERR_NOT_FOUND (there is no such object, no such folder, nothing that a pattern
 * matches), RGM_ERR_CONFIG (a file outside of the folder, a folder as the entrypoint, more than
 * RGM_CODE_FILES or RGM_CODE_BYTES), RGM_ERR_FORMAT (an object above RGM_CODE_OBJECT), RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_code_collect(rgm_code *out, const rgm_search_file *file, const char *working_folder);
/**
 * Write the files into a folder, which is made.
 *
 * @param is_kept [in] they are read-only
 * @param same  [in] a folder that may have the same files: those that are equal, byte by byte,
 * become links to the same bytes. NULL: none
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM; part of it may be there then.
 */
rgm_status rgm_code_copy(const rgm_code *code, const char *folder, const char *same, bool is_kept);
/**
 * Compare the files in a folder with what they were: those of `code` are there and have its hashes.
 *
 * @param whose  [in] for the message: "experiment 7"
 *
 * Errors: RGM_ERR_FORMAT (one has gone or is another), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_code_check(const rgm_code *code, const char *folder, const char *whose);
/** Load the bytes of files that were described before, checked as rgm_code_check() does. Errors:
 * those of it; files before are loaded then. */
rgm_status rgm_code_load(rgm_code *code, const char *folder, const char *whose);
/** Add the description of a file, without its bytes; in any order. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_code_add(rgm_code *code, const char *path, int64_t size, bool is_executable,
                        const char *hash);
void rgm_code_clear(rgm_code *code);

#ifdef __cplusplus
}
#endif
#endif
