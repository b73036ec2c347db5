/*
 * Ids from a file beside a SentencePiece model: a JSON object of pieces and numbers. Padding comes
 * first here, wherever the file has it.
 */
#include "tokenizer_internal.h"

#include <string.h>

enum { LARGEST_FILE = 64 << 20, MOST_PIECES = 1 << 24 };
static const char pad_piece[] = "<pad>", end_piece[] = "</s>", unknown_piece[] = "<unk>";

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t count_entries(const rgm_json *object)
{
    rgm_json_entry entry = {0};
    int64_t count = 0;

    while (rgm_json_next(&entry, object))
        count++;
    return count;
}

/* Where a number of the file goes. */
static int32_t id_of_number(const rgmi_vocabulary *v, int64_t number)
{
    if (number == v->pad)
        return 0;
    return (int32_t)(v->pad < 0 || number < v->pad ? number + 1 : number);
}

static bool is_language(const char *piece)
{
    size_t size = strlen(piece);

    return size > 4 && memcmp(piece, ">>", 2) == 0 && memcmp(piece + size - 2, "<<", 2) == 0;
}

static rgm_status add(rgmi_vocabulary *v, const char *piece, int32_t id)
{
    RGM_TRY(rgm_map_set(v->ids, piece, (void *)(intptr_t)(id + 1)));
    v->pieces[id] = rgm_map_key(v->ids, rgm_map_count(v->ids) - 1);
    v->has_languages = v->has_languages || is_language(piece);
    return RGM_OK;
}

static rgm_status add_entries(rgmi_vocabulary *v, const rgm_json *object, int64_t entries,
                              const char *path)
{
    rgm_json_entry entry = {0};

    while (rgm_json_next(&entry, object)) {
        int64_t number;
        int32_t id;
        if (!rgm_json_int(&number, entry.value))
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: the id of '%s' is no whole number", path,
                            entry.key);
        if (number < 0 || number >= entries)
            return RGM_FAIL(
                RGM_ERR_FORMAT, "%s: '%s' has the id %lld, but %lld pieces have the ids 0 to %lld",
                path, entry.key, (long long)number, (long long)entries, (long long)entries - 1);
        id = id_of_number(v, number);
        if (v->pieces[id] != NULL)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: '%s' and '%s' have the same id, %lld", path,
                            v->pieces[id], entry.key, (long long)number);
        RGM_TRY(add(v, entry.key, id));
    }
    return v->pad < 0 ? add(v, pad_piece, 0) : RGM_OK;
}

static rgm_status special(int32_t *out, const rgmi_vocabulary *v, const char *piece,
                          const char *path)
{
    *out = rgmi_vocabulary_find(v, piece);
    if (*out >= 0)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: a vocabulary needs the piece %s, which this one lacks",
                    path, piece);
}

static rgm_status read_object(rgmi_vocabulary *v, const rgm_json *object, const char *path)
{
    int64_t entries = count_entries(object);

    if (!rgm_json_is_object(object) || entries == 0 || entries > MOST_PIECES)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s: no vocabulary: a JSON object of pieces and their ids, {\"</s>\": 0, "
                        "..}",
                        path);
    if (!rgm_json_int(&v->pad, rgm_json_find(object, pad_piece)))
        v->pad = -1;
    v->count = entries + (v->pad < 0);
    RGM_TRY(rgm_map_create(&v->ids));
    RGM_TRY(RGM_NEW(v->pieces, v->count));
    RGM_TRY(add_entries(v, object, entries, path));
    RGM_TRY(special(&v->eos, v, end_piece, path));
    return special(&v->unk, v, unknown_piece, path);
}

rgm_status rgmi_vocabulary_open(rgmi_vocabulary **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgmi_vocabulary *v = NULL;
    rgm_json *json = NULL;
    char *data = NULL;
    int64_t size;

    *out = NULL;
    RGM_GO(rgm_file_load(&data, &size, path, LARGEST_FILE));
    RGM_GO(RGM_NEW(v, 1));
    RGM_GO(rgm_text_add(&v->file, data, size));
    RGM_GO(rgm_json_parse(&json, data, size, path));
    RGM_GO(read_object(v, json, path));
    *out = v;
    v = NULL;
done:
    rgm_json_release(json);
    rgm_free(data);
    rgmi_vocabulary_close(v);
    return status;
}

void rgmi_vocabulary_close(rgmi_vocabulary *vocabulary)
{
    if (vocabulary == NULL)
        return;
    rgm_text_clear(&vocabulary->file);
    rgm_map_release(vocabulary->ids);
    rgm_free(vocabulary->pieces);
    rgm_free(vocabulary);
}

int32_t rgmi_vocabulary_find(const rgmi_vocabulary *vocabulary, const char *piece)
{
    return (int32_t)(intptr_t)rgm_map_get(vocabulary->ids, piece) - 1;
}

/* ---- use ------------------------------------------------------------------------------------- */

/* An rgmi_piece_id. */
static int32_t id_of(const void *payload, const char *piece)
{
    const rgmi_vocabulary *v = payload;
    int32_t id = rgmi_vocabulary_find(v, piece);

    return id >= 0 ? id : v->unk;
}

/* Take ">>fr<<" from the front of a text. */
static rgm_status take_language(rgm_ids *ids, const rgmi_vocabulary *v, rgm_str *text)
{
    const char *end;
    char code[64];
    size_t size;

    if (!v->has_languages || text->size < 4 || memcmp(text->data, ">>", 2) != 0)
        return RGM_OK;
    end = memmem(text->data + 2, (size_t)text->size - 2, "<<", 2);
    if (end == NULL)
        return RGM_OK;
    size = (size_t)(end + 2 - text->data);
    RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + 1));
    ids->items[ids->count] = v->unk;
    if (size < sizeof code) {
        memcpy(code, text->data, size);
        code[size] = 0;
        ids->items[ids->count] = id_of(v, code);
    }
    ids->count++;
    text->data += size;
    text->size -= (int64_t)size;
    return RGM_OK;
}

rgm_status rgmi_vocabulary_encode(rgm_ids *ids, const rgmi_vocabulary *vocabulary,
                                  const rgmi_sentencepiece *processor, const char *text,
                                  int64_t size, const rgmi_segmentation *how)
{
    rgm_str rest = {text, size};

    RGM_TRY(take_language(ids, vocabulary, &rest));
    return rgmi_sentencepiece_encode_by(ids, processor, rest.data, rest.size, how, id_of,
                                        vocabulary);
}

/* Pieces that the model does not know keep their mark of a space; so does a space in front. */
static rgm_status tidy(rgm_text *out, const rgm_text *joined)
{
    static const char mark[] = "\xe2\x96\x81";
    const char *at = joined->data, *end = at + joined->size;

    while (at < end) {
        bool is_mark = end - at >= 3 && memcmp(at, mark, 3) == 0, is_space = is_mark || *at == ' ';
        if (!is_space || out->size > 0)
            RGM_TRY(rgm_text_add(out, is_space ? " " : at, 1));
        at += is_mark ? 3 : 1;
    }
    while (out->size > 0 && out->data[out->size - 1] == ' ')
        out->data[--out->size] = 0;
    return RGM_OK;
}

rgm_status rgmi_vocabulary_decode(rgm_text *text, const rgmi_vocabulary *vocabulary,
                                  const rgmi_sentencepiece *processor, const int32_t *ids,
                                  int64_t count)
{
    rgm_status status = RGM_OK;
    const char **pieces = NULL;
    rgm_text joined = {0}, tidied = {0};
    int64_t kept = 0;

    RGM_GO(RGM_NEW(pieces, count));
    for (int64_t i = 0; i < count; i++)
        if (ids[i] != 0 && ids[i] != vocabulary->eos)
            pieces[kept++] = vocabulary->pieces[ids[i]];
    RGM_GO(rgmi_sentencepiece_join(&joined, processor, pieces, kept));
    RGM_GO(tidy(&tidied, &joined));
    RGM_GO(rgm_text_add(text, tidied.size > 0 ? tidied.data : "", tidied.size));
done:
    rgm_text_clear(&joined);
    rgm_text_clear(&tidied);
    rgm_free(pieces);
    return status;
}
