/*
 * text, for language models: documents as one long row of tokens, in memory or in a file that is
 * mapped, and blocks of equal length that are cut out of them or that documents are packed into.
 *
 *     rgm_tokens_encode(&tokens, files, count, tokenizer, RGM_DOCUMENTS_LINES, 4);
 *     rgm_tokens_save(tokens, "train.tokens");        next time: rgm_tokens_open()
 *     rgm_token_blocks(&data, tokens, &options);      ids, labels, positions, segments [rows,
 * length]
 */
#ifndef REGIMEN_TEXT_TOKENS_H
#define REGIMEN_TEXT_TOKENS_H

#include <regimen/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tokens of documents --------------------------------------------------------------------- */

/** The tokens of documents, one document after the other, each with its end. Immutable once it is
 * filled, counted, usable from any thread. */
typedef struct rgm_tokens rgm_tokens;

/** What in a text file is a document. */
typedef enum rgm_documents {
    RGM_DOCUMENTS_LINES,      /* each line; an empty one is an empty document       */
    RGM_DOCUMENTS_PARAGRAPHS, /* lines up to an empty one, with their line feeds    */
    RGM_DOCUMENTS_FILES       /* each file; the line feed at its end is the end     */
} rgm_documents;
extern const char *const rgm_documents_names[]; /* "lines", "paragraphs", "files", NULL */

/** What tokens say about themselves. */
typedef struct rgm_tokens_info {
    int64_t tokens, documents;
    int64_t bytes;      /* of the text, where each document's end is one byte, as the line feed that
                           it stands for */
    int64_t vocabulary; /* ids are 0 .. vocabulary-1 */
    uint64_t tokenizer; /* rgm_hash64() of the tokenizer's file; 0: unknown */
    int32_t begin_id;   /* what a model reads before the first token of a document: the tokenizer's
                           begin, or its end if it has no begin */
    int32_t end_id;     /* what each document ends with */
} rgm_tokens_info;

/**
 * No tokens yet; of `info` vocabulary, tokenizer, begin_id and end_id are taken.
 * Errors: RGM_ERR_ARG (an id outside the vocabulary, a vocabulary of 0 or above 2^31),
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_tokens_create(rgm_tokens **out, const rgm_tokens_info *info);
rgm_tokens *rgm_tokens_retain(const rgm_tokens *tokens);
void rgm_tokens_release(rgm_tokens *tokens);
/**
 * Append a document; its end is added. bytes: of its text, without the end.
 * Errors: RGM_ERR_ARG (an id outside the vocabulary; tokens of a file take no more),
 * RGM_ERR_NOMEM; nothing is appended.
 */
rgm_status rgm_tokens_add(rgm_tokens *tokens, const int32_t *ids, int64_t count, int64_t bytes);
/**
 * Tokens of text files, plain or gzip, in their order. The result is the same for any number of
 * threads (0 or 1: the calling thread does the work). Memory: 2 bytes a token, 4 with more than
 * 65,536 pieces, and 16 a document.
 *
 * Errors: RGM_ERR_DATA (a tokenizer without an end; no document), those of the line reader and of
 * rgm_tokenizer_encode(), with file and line.
 */
rgm_status rgm_tokens_encode(rgm_tokens **out, const char *const *paths, int64_t count,
                             const rgm_tokenizer *tokenizer, rgm_documents documents, int threads);
void rgm_tokens_get_info(rgm_tokens_info *out, const rgm_tokens *tokens);
/** Token i, 0 <= i < tokens. */
int32_t rgm_tokens_at(const rgm_tokens *tokens, int64_t i);
/** Where document i, 0 <= i < documents, begins and ends: tokens *begin .. *end - 1, the last of
 * them its end; and the bytes of its text with one for its end. */
void rgm_tokens_document(int64_t *begin, int64_t *end, int64_t *bytes, const rgm_tokens *tokens,
                         int64_t i);
/**
 * Whether what was read so far means anything: a mapped file that another program cuts off reads as
 * zeros from there on. Ask behind the reads. Errors: RGM_ERR_IO (cut off, or unreadable).
 */
rgm_status rgm_tokens_check(const rgm_tokens *tokens);

/**
 * Write a token file, whole or not at all: a header with magic, sizes, the tokenizer's hash and
 * checksums, then the tokens in 16 or 32 bits, then the documents (docs/language_model.md).
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tokens_save(const rgm_tokens *tokens, const char *path);
/**
 * Map a token file. Its bytes are read once, to check them against the checksum.
 *
 * Errors: RGM_ERR_FORMAT "FILE: what" (no token file, another version, damaged), RGM_ERR_NOT_FOUND,
 * RGM_ERR_IO, RGM_ERR_BUSY, RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_tokens_open(rgm_tokens **out, const char *path);
/** Whether a file begins as a token file does; false also when it cannot be read. */
bool rgm_tokens_is_file(const char *path);

/* ---- blocks ---------------------------------------------------------------------------------- */

/** How documents become blocks of equal length. */
typedef enum rgm_packing {
    RGM_PACKING_DOCUMENTS, /* whole documents side by side, each a segment of its own: the model
                              must let no token see another segment                         */
    RGM_PACKING_STREAM     /* the tokens as they follow each other, cut at equal distances: a
                              token sees what is before it in its block, whatever document  */
} rgm_packing;
extern const char *const rgm_packing_names[]; /* "documents", "stream", NULL */

typedef struct rgm_token_block_options {
    int64_t length; /* tokens of a block                                                 */
    int64_t rows;   /* blocks of a batch                                                 */
    rgm_packing packing;
    bool training; /* true: seed and epoch give a random order; false: the data's order  */
} rgm_token_block_options;
#define RGM_TOKEN_BLOCK_OPTIONS_INIT                                                               \
    {                                                                                              \
        .length = 256, .rows = 16, .packing = RGM_PACKING_DOCUMENTS, .training = true              \
    }
/**
 * Batches of blocks. An element is five tensors [rows, length]: the ids that are read, i64; the
 * labels, i64, which are the tokens themselves, each predicted from what is before it; the
 * positions, i64, from 0 on in each segment; the segments, i64, 1, 2, .. in each row and 0 where
 * nothing is; and the bytes, f32: of each label the share of its document's bytes, so that they sum
 * to the bytes of the text. All batches have one shape. The last one of an epoch is filled up with
 * rows of segment 0.
 *
 * Packed documents: a document that is longer than a block is cut into whole blocks and a rest. A
 * piece begins by reading the token before it, or begin_id where the document begins. Pieces are
 * put into as few blocks as best-fit-decreasing finds, once, by their lengths alone; each epoch of
 * training draws which pieces of a length stand where, and the order of the blocks. So every token
 * is a label once an epoch.
 *
 * A stream: in evaluation every token is a label once. Each epoch of training begins at a token
 * drawn from the first `length`, so that the borders of blocks move; up to 2 * length - 2 tokens
 * at both ends are then in no block.
 *
 * Indexed; saved: one number. Errors: RGM_ERR_ARG (options), RGM_ERR_DATA (no tokens),
 * RGM_ERR_NOMEM. A file that is cut off while it is mapped: RGM_ERR_IO in place of the batch.
 */
rgm_status rgm_token_blocks(rgm_dataset **out, const rgm_tokens *tokens,
                            const rgm_token_block_options *options);

/** What an epoch of blocks contains. */
typedef struct rgm_token_block_figures {
    int64_t documents;       /* of the data                                         */
    int64_t cut;             /* of these, how many stand in several pieces          */
    int64_t blocks, batches; /* real ones                                           */
    int64_t labels;          /* tokens that are labels                              */
    int64_t unseen;          /* tokens that are in no block of an epoch             */
    int64_t places;          /* rows * length * batches: the labels and empty places */
} rgm_token_block_figures;
/** RGM_ERR_ARG unless the recipe was made by rgm_token_blocks(). */
rgm_status rgm_token_blocks_figures(rgm_token_block_figures *out, const rgm_dataset *blocks);

#ifdef __cplusplus
}
#endif
#endif
