/*
 * Text files become tokens: some documents are read, threads encode them, and they are appended in
 * their order; so the threads change nothing, and no more text than that is in memory.
 */
#include "token_store.h"

#include <string.h>

enum { DOCUMENTS_AT_ONCE = 4096, BYTES_AT_ONCE = 16 << 20, LONGEST_DOCUMENT = 16 << 20 };

/** A document that was read. */
typedef struct text_document {
    const char *path;
    int64_t line; /* of its beginning, from 1 */
    int64_t end;  /* of its text               */
} text_document;

typedef struct source {
    const char *const *paths;
    int64_t count, open;
    rgm_documents kind;
    const char *path; /* of the reader */
    rgm_line_reader *reader;
    rgm_text text; /* of the documents */
    text_document documents[DOCUMENTS_AT_ONCE];
    int64_t read;
} source;

static rgm_status too_long(const source *s, int64_t line)
{
    return RGM_FAIL(RGM_ERR_DATA,
                    "%s:%lld: a document of more than %d bytes; take lines or paragraphs for "
                    "documents, or cut the file",
                    s->path, (long long)line, LONGEST_DOCUMENT);
}

/* Lines that make one document behind the text; RGM_END: there is none left in the file. */
static rgm_status read_lines(source *s, text_document *d)
{
    int64_t begin = s->text.size;
    bool any = false;

    for (;;) {
        rgm_str line;
        rgm_status status = rgm_line_reader_next(&line, s->reader);

        if (status == RGM_END)
            return any || (s->kind == RGM_DOCUMENTS_FILES && d->line == 0) ? RGM_OK : RGM_END;
        RGM_TRY(status);
        if (s->kind == RGM_DOCUMENTS_PARAGRAPHS && line.size == 0) {
            if (any)
                return RGM_OK;
            continue;
        }
        if (!any)
            d->line = rgm_line_reader_line(s->reader);
        else
            RGM_TRY(rgm_text_add(&s->text, "\n", 1));
        if (s->text.size - begin + line.size > LONGEST_DOCUMENT)
            return too_long(s, d->line);
        RGM_TRY(rgm_text_add(&s->text, line.data, line.size));
        any = true;
        if (s->kind == RGM_DOCUMENTS_LINES)
            return RGM_OK;
    }
}

/* The next document; RGM_END behind the last. */
static rgm_status read_document(source *s)
{
    text_document *d = &s->documents[s->read];

    for (;;) {
        rgm_status status;

        if (s->reader == NULL && s->open == s->count)
            return RGM_END;
        *d = (text_document){.line = 0};
        if (s->reader == NULL) {
            s->path = s->paths[s->open++];
            RGM_TRY(rgm_path_refuse_pipe(s->path));
            RGM_TRY(rgm_line_reader_open(&s->reader, s->path,
                                         &(rgm_line_options){.max_line_bytes = LONGEST_DOCUMENT}));
        } else if (s->kind == RGM_DOCUMENTS_FILES) {
            d->line = 1; /* the file was one document */
        }
        d->path = s->path;
        status = read_lines(s, d);
        if (status == RGM_OK) {
            d->end = s->text.size;
            s->read++;
            return RGM_OK;
        }
        if (status != RGM_END)
            return status;
        rgm_line_reader_close(s->reader);
        s->reader = NULL;
    }
}

/** Documents that one thread encodes. */
typedef struct part {
    const source *source;
    const rgm_tokenizer *tokenizer;
    int64_t begin, end;
    rgm_ids ids;
    int64_t ends[DOCUMENTS_AT_ONCE];
    rgm_error error;
} part;

static rgm_str text_of(const source *s, int64_t i)
{
    int64_t begin = i > 0 ? s->documents[i - 1].end : 0;

    return (rgm_str){s->text.size > 0 ? s->text.data + begin : "", s->documents[i].end - begin};
}

static rgm_status encode(part *p)
{
    p->ids.count = 0;
    for (int64_t i = p->begin; i < p->end; i++) {
        rgm_str text = text_of(p->source, i);
        rgm_status status = rgm_tokenizer_encode(&p->ids, p->tokenizer, text.data, text.size);

        if (status != RGM_OK)
            return rgm_error_prefix(status, "%s:%lld", p->source->documents[i].path,
                                    (long long)p->source->documents[i].line);
        p->ends[i - p->begin] = p->ids.count;
    }
    return RGM_OK;
}

static void work(void *payload)
{
    part *p = payload;
    rgm_error_save(&p->error, encode(p));
}

static rgm_status encode_parts(part *parts, int count)
{
    rgm_status status = RGM_OK;
    rgm_thread_pool *pool = NULL;

    if (count == 1)
        return encode(&parts[0]);
    RGM_TRY(rgm_thread_pool_create(&pool, count));
    for (int k = 0; k < count && status == RGM_OK; k++)
        status = rgm_thread_pool_submit(pool, work, &parts[k]);
    rgm_thread_pool_release(pool); /* waits */
    for (int k = 0; k < count && status == RGM_OK; k++)
        if (parts[k].error.status != RGM_OK)
            status = rgm_error_restore(&parts[k].error);
    return status;
}

static rgm_status append(rgm_tokens *tokens, const part *p)
{
    for (int64_t i = p->begin; i < p->end; i++) {
        int64_t first = i > p->begin ? p->ends[i - p->begin - 1] : 0;

        RGM_TRY(rgm_tokens_add(tokens, p->ids.items + first, p->ends[i - p->begin] - first,
                               text_of(p->source, i).size));
    }
    return RGM_OK;
}

/* Read, encode and append some documents; RGM_END: these were the last. */
static rgm_status encode_some(rgm_tokens *tokens, source *s, part *parts, int threads)
{
    rgm_status status = RGM_OK;

    s->read = s->text.size = 0;
    while (status == RGM_OK && s->read < DOCUMENTS_AT_ONCE && s->text.size < BYTES_AT_ONCE)
        status = read_document(s);
    if (status != RGM_OK && status != RGM_END)
        return status;
    for (int k = 0; k < threads; k++) {
        parts[k].begin = s->read * k / threads;
        parts[k].end = s->read * (k + 1) / threads;
    }
    RGM_TRY(encode_parts(parts, threads));
    for (int k = 0; k < threads; k++)
        RGM_TRY(append(tokens, &parts[k]));
    return status;
}

static rgm_status open_tokens(rgm_tokens **out, const rgm_tokenizer *tokenizer)
{
    int64_t size;
    const void *model = rgm_tokenizer_model(tokenizer, &size);
    rgm_tokens_info info = {.vocabulary = rgm_tokenizer_size(tokenizer),
                            .tokenizer = rgm_hash64(model, (size_t)size),
                            .begin_id = rgm_tokenizer_bos_id(tokenizer),
                            .end_id = rgm_tokenizer_eos_id(tokenizer)};

    if (info.end_id < 0)
        return RGM_FAIL(RGM_ERR_DATA, "the tokenizer has no piece for the end of a document (eos)");
    if (info.begin_id < 0)
        info.begin_id = info.end_id;
    return rgm_tokens_create(out, &info);
}

rgm_status rgm_tokens_encode(rgm_tokens **out, const char *const *paths, int64_t count,
                             const rgm_tokenizer *tokenizer, rgm_documents documents, int threads)
{
    rgm_status status = RGM_OK;
    rgm_tokens *tokens = NULL;
    source *s = NULL;
    part *parts = NULL;

    *out = NULL;
    threads = threads < 1 ? 1 : threads;
    RGM_GO(open_tokens(&tokens, tokenizer));
    RGM_GO(RGM_NEW(s, 1));
    RGM_GO(RGM_NEW(parts, threads));
    s->paths = paths;
    s->count = count;
    s->kind = documents;
    for (int k = 0; k < threads; k++) {
        parts[k].source = s;
        parts[k].tokenizer = tokenizer;
    }
    do
        status = encode_some(tokens, s, parts, threads);
    while (status == RGM_OK);
    if (status == RGM_END)
        status = RGM_OK;
    if (status == RGM_OK && tokens->info.documents == 0)
        status = RGM_FAIL(RGM_ERR_DATA, "%s%s: no document", count > 0 ? paths[0] : "no file",
                          count > 1 ? " and others" : "");
    if (status == RGM_OK) {
        *out = tokens;
        tokens = NULL;
    }
done:
    for (int k = 0; parts != NULL && k < threads; k++)
        rgm_ids_clear(&parts[k].ids);
    rgm_free(parts);
    if (s != NULL) {
        rgm_line_reader_close(s->reader);
        rgm_text_clear(&s->text);
    }
    rgm_free(s);
    rgm_tokens_release(tokens);
    return status;
}
