/* Tokens of documents: how they lie in memory and in a file (token_store.c, token_file.c). */
#ifndef RGMI_TOKEN_STORE_H
#define RGMI_TOKEN_STORE_H

#include <stdatomic.h>

#include <regimen/text_tokens.h>

/** Of a document: where its tokens end, and the bytes of its text and end. */
typedef struct rgmi_document {
    int64_t end, bytes;
} rgmi_document;

struct rgm_tokens {
    atomic_int references;
    rgm_tokens_info info;
    int width;                      /* bytes of a token: 2 or 4                    */
    const void *ids;                /* [info.tokens] own_ids, or in the file       */
    const rgmi_document *documents; /* [info.documents] own_documents, or in the file */
    uint8_t *own_ids;
    rgmi_document *own_documents;
    int64_t id_capacity, document_capacity; /* bytes; documents */
    rgm_mapped_file file;                   /* data NULL: in memory */
    char *path;                             /* of the file */
};

/** RGM_ERR_ARG: numbers that no tokens have. */
rgm_status rgmi_tokens_check_info(const rgm_tokens_info *info);
static inline int rgmi_token_width(int64_t vocabulary)
{
    return vocabulary <= 1 << 16 ? 2 : 4;
}
/** The document that token i is of. */
int64_t rgmi_tokens_document_of(const rgm_tokens *tokens, int64_t i);

#endif
