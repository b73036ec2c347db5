/*
 * Token files, which are mapped:
 *
 *   header     96 bytes: magic, version, bytes of a token, begin and end, sizes, hashes
 *   tokens     [tokens] of 2 or 4 bytes, filled up to a multiple of 8
 *   documents  [documents] of where its tokens end and its bytes, 8 bytes each
 *
 * All numbers are little-endian, as the machines are that this library runs on.
 */
#include "token_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char magic[8] = {'R', 'G', 'M', 'T', 'O', 'K', 'S', '\n'};
enum { VERSION = 1 };

typedef struct header {
    char magic[8];
    uint32_t version, width;
    int32_t begin_id, end_id;
    int64_t vocabulary, tokens, documents, bytes;
    uint64_t tokenizer;
    uint64_t content; /* rgm_hash64() of all behind the header      */
    uint64_t spare[2];
    uint64_t self; /* rgm_hash64() of the header before this one */
} header;
_Static_assert(sizeof(header) == 96, "the header of a token file");

static int64_t padded(int64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static header make_header(const rgm_tokens *tokens, uint64_t content)
{
    const rgm_tokens_info *info = &tokens->info;
    header h = {.version = VERSION,
                .width = (uint32_t)tokens->width,
                .begin_id = info->begin_id,
                .end_id = info->end_id,
                .vocabulary = info->vocabulary,
                .tokens = info->tokens,
                .documents = info->documents,
                .bytes = info->bytes,
                .tokenizer = info->tokenizer,
                .content = content};

    memcpy(h.magic, magic, sizeof magic);
    h.self = rgm_hash64(&h, offsetof(header, self));
    return h;
}

rgm_status rgm_tokens_save(const rgm_tokens *tokens, const char *path)
{
    rgm_status status = RGM_OK;
    int64_t ids = tokens->info.tokens * tokens->width,
            documents = tokens->info.documents * (int64_t)sizeof(rgmi_document);
    rgm_text file = {0};
    uint64_t zero = 0;
    header h = {0};

    RGM_GO(RGM_RESERVE(file.data, file.capacity, (int64_t)sizeof h + padded(ids) + documents + 1));
    RGM_GO(rgm_text_add(&file, &h, sizeof h));
    if (ids > 0)
        RGM_GO(rgm_text_add(&file, tokens->ids, ids));
    RGM_GO(rgm_text_add(&file, &zero, padded(ids) - ids));
    if (documents > 0)
        RGM_GO(rgm_text_add(&file, tokens->documents, documents));
    RGM_GO(rgm_tokens_check(tokens));
    h = make_header(tokens, rgm_hash64(file.data + sizeof h, (size_t)file.size - sizeof h));
    memcpy(file.data, &h, sizeof h);
    status = rgm_file_save(path, file.data, file.size);
done:
    rgm_text_clear(&file);
    return status;
}

bool rgm_tokens_is_file(const char *path)
{
    char start[sizeof magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && read(fd, start, sizeof start) == (ssize_t)sizeof start &&
              memcmp(start, magic, sizeof magic) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

rgm_status rgm_tokens_check(const rgm_tokens *tokens)
{
    if (tokens->file.data != NULL && rgm_mapped_file_is_cut(&tokens->file))
        return RGM_FAIL(RGM_ERR_IO, "%s was cut off or cannot be read any more", tokens->path);
    return RGM_OK;
}

static rgm_status damaged(const char *path, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: %s", path, what);
}

static rgm_status check_header(const header *h, int64_t size, const char *path)
{
    rgm_tokens_info info = {
        .vocabulary = h->vocabulary, .begin_id = h->begin_id, .end_id = h->end_id};

    if (h->version != VERSION)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: version %u of token files; this program reads %d",
                        path, (unsigned)h->version, VERSION);
    if (h->self != rgm_hash64(h, offsetof(header, self)))
        return damaged(path, "a damaged token file: the header's checksum is wrong");
    if (rgmi_tokens_check_info(&info) != RGM_OK ||
        h->width != (uint32_t)rgmi_token_width(h->vocabulary) || h->tokens < 0 ||
        h->documents < 0 || h->bytes < 0 || h->tokens > size || h->documents > size)
        return damaged(path, "a damaged token file: numbers of its header contradict each other");
    if (size != (int64_t)sizeof *h + padded(h->tokens * (int64_t)h->width) +
                    h->documents * (int64_t)sizeof(rgmi_document))
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s: a damaged token file: %lld bytes do not hold %lld tokens of %lld "
                        "documents",
                        path, (long long)size, (long long)h->tokens, (long long)h->documents);
    return RGM_OK;
}

/* Its checksum, then what a checksum does not promise: a file may be made by anyone. */
static rgm_status check_content(const rgm_tokens *t, const header *h)
{
    const uint8_t *content = t->file.data + sizeof *h;
    int64_t before = 0, bytes = 0;

    if (h->content != rgm_hash64(content, (size_t)t->file.size - sizeof *h))
        return damaged(t->path, "a damaged token file: its checksum is wrong");
    for (int64_t i = 0; i < h->documents; i++) {
        if (t->documents[i].end <= before || t->documents[i].end > h->tokens ||
            t->documents[i].bytes < 1 || t->documents[i].bytes > h->bytes - bytes)
            return damaged(t->path, "a token file whose documents lie wrong");
        before = t->documents[i].end;
        bytes += t->documents[i].bytes;
    }
    if (before != h->tokens || bytes != h->bytes)
        return damaged(t->path, "a token file whose documents are not all of it");
    for (int64_t i = 0; i < h->tokens; i++)
        if (rgm_tokens_at(t, i) < 0 || rgm_tokens_at(t, i) >= h->vocabulary)
            return damaged(t->path, "a token file with an id outside its vocabulary");
    return rgm_tokens_check(t);
}

static rgm_status read_file(rgm_tokens *t)
{
    header h;

    if (t->file.size < (int64_t)sizeof h || memcmp(t->file.data, magic, sizeof magic) != 0)
        return damaged(t->path, "no token file: 'regimen text tokens' makes one");
    memcpy(&h, t->file.data, sizeof h);
    RGM_TRY(check_header(&h, t->file.size, t->path));
    t->info = (rgm_tokens_info){.tokens = h.tokens,
                                .documents = h.documents,
                                .bytes = h.bytes,
                                .vocabulary = h.vocabulary,
                                .tokenizer = h.tokenizer,
                                .begin_id = h.begin_id,
                                .end_id = h.end_id};
    t->width = (int)h.width;
    t->ids = t->file.data + sizeof h;
    t->documents = (const rgmi_document *)(const void *)(t->file.data + sizeof h +
                                                         padded(h.tokens * (int64_t)h.width));
    return check_content(t, &h);
}

rgm_status rgm_tokens_open(rgm_tokens **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_tokens *t = NULL;

    *out = NULL;
    RGM_TRY(rgm_path_refuse_pipe(path));
    RGM_GO(RGM_NEW(t, 1));
    atomic_init(&t->references, 1);
    RGM_GO(rgm_strdup(&t->path, path));
    RGM_GO(rgm_file_map_guarded(&t->file, path));
    RGM_GO(read_file(t));
    *out = t;
    t = NULL;
done:
    rgm_tokens_release(t);
    return status;
}
