/*
 * Ids from a file beside a SentencePiece model: a JSON object of pieces and numbers, lines of YAML,
 * or the model itself. Padding comes first here, wherever the file has it.
 */
#include "tokenizer_internal.h"

#include <stdio.h>
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

/* A piece with its number, of `entries`. */
static rgm_status add_entry(rgmi_vocabulary *v, const char *piece, int64_t number, int64_t entries,
                            const char *path)
{
    int32_t id;

    if (number < 0 || number >= entries)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s: '%s' has the id %lld, but %lld pieces have the ids 0 to %lld", path,
                        piece, (long long)number, (long long)entries, (long long)entries - 1);
    id = id_of_number(v, number);
    if (v->pieces[id] != NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: '%s' and '%s' have the same id, %lld", path,
                        v->pieces[id], piece, (long long)number);
    if (rgm_map_has(v->ids, piece))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: '%s' is there twice", path, piece);
    return add(v, piece, id);
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

/* Room for so many, of which "<pad>" has the number `pad`; -1: it is added. */
static rgm_status begin(rgmi_vocabulary *v, int64_t entries, int64_t pad, const char *path)
{
    if (entries == 0 || entries > MOST_PIECES)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s: no vocabulary: pieces and their ids, {\"</s>\": 0, ..} or lines such "
                        "as \"</s>\": 0",
                        path);
    if (pad >= entries)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s: the id of '%s' is none of 0 to %lld, which %lld pieces have", path,
                        pad_piece, (long long)entries - 1, (long long)entries);
    v->pad = pad;
    v->count = entries + (pad < 0);
    RGM_TRY(rgm_map_create(&v->ids));
    return RGM_NEW(v->pieces, v->count);
}

/* All pieces are there: without padding the first place is free, else it is that piece's. */
static rgm_status finish(rgmi_vocabulary *v, const char *path)
{
    bool is_right =
        v->pad < 0 ? !rgm_map_has(v->ids, pad_piece) : strcmp(v->pieces[0], pad_piece) == 0;

    if (!is_right)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: the line of '%s' is written otherwise than \"%s\": 7",
                        path, pad_piece, pad_piece);
    if (v->pad < 0)
        RGM_TRY(add(v, pad_piece, 0));
    RGM_TRY(special(&v->eos, v, end_piece, path));
    return special(&v->unk, v, unknown_piece, path);
}

static rgm_status read_object(rgmi_vocabulary *v, const rgm_json *object, const char *path)
{
    int64_t entries = count_entries(object), number = -1;
    rgm_json_entry entry = {0};

    (void)rgm_json_int(&number, rgm_json_find(object, pad_piece));
    RGM_TRY(begin(v, entries, number, path));
    while (rgm_json_next(&entry, object)) {
        if (!rgm_json_int(&number, entry.value))
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: the id of '%s' is no whole number", path,
                            entry.key);
        RGM_TRY(add_entry(v, entry.key, number, entries, path));
    }
    return finish(v, path);
}

/* ---- Marian's form: a line of YAML for each piece, more than a YAML document may have ----------
 */

/* The next line, without its end; false: there is none. */
static bool next_line(rgm_str *line, rgm_str *rest)
{
    const char *end = rest->size > 0 ? memchr(rest->data, '\n', (size_t)rest->size) : NULL;

    *line = *rest;
    if (end != NULL)
        line->size = end - rest->data;
    rest->data += line->size + (end != NULL);
    rest->size -= line->size + (end != NULL);
    return line->size > 0 || end != NULL;
}

static bool says_nothing(rgm_str line)
{
    int64_t at = 0;

    while (at < line.size && (line.data[at] == ' ' || line.data[at] == '\r'))
        at++;
    return at == line.size || line.data[at] == '#' ||
           (line.size == 3 && memcmp(line.data, "---", 3) == 0);
}

/* One piece and its number. */
static rgm_status read_line(rgmi_vocabulary *v, rgm_str line, int64_t number, int64_t entries,
                            const char *path)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    const rgm_yaml_node *root;
    char place[320];
    int64_t id;

    snprintf(place, sizeof place, "%.250s, line %lld", path, (long long)number);
    status = rgm_yaml_parse(&yaml, line.data, line.size, place);
    if (status == RGM_ERR_CONFIG) /* the file of a stranger, not the user's own */
        status = rgm_error_prefix(RGM_ERR_FORMAT, "no piece and its id");
    RGM_GO(status);
    root = rgm_yaml_root(yaml);
    if (root->kind != RGM_YAML_MAP || root->count != 1 ||
        rgm_yaml_int(&id, root->items[0]) != RGM_OK)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s: no piece and its id, such as \"a\": 7", place));
    RGM_GO(add_entry(v, root->items[0]->key, id, entries, path));
done:
    rgm_yaml_release(yaml);
    return status;
}

static bool is_padding(rgm_str line, int64_t *number)
{
    static const char *const forms[] = {"<pad>: ", "\"<pad>\": ", "'<pad>': "};

    for (int i = 0; i < 3; i++) {
        int64_t size = (int64_t)strlen(forms[i]);
        if (line.size <= size || memcmp(line.data, forms[i], (size_t)size) != 0)
            continue;
        for (*number = 0; size < line.size && line.data[size] >= '0' && line.data[size] <= '9' &&
                          *number < MOST_PIECES;
             size++)
            *number = 10 * *number + (line.data[size] - '0');
        return true;
    }
    return false;
}

static rgm_status read_lines(rgmi_vocabulary *v, const char *path)
{
    rgm_str rest = {v->file.data, v->file.size}, line;
    int64_t entries = 0, pad = -1, number = 0;

    while (next_line(&line, &rest)) {
        entries += !says_nothing(line);
        (void)is_padding(line, &pad);
    }
    RGM_TRY(begin(v, entries, pad, path));
    rest = (rgm_str){v->file.data, v->file.size};
    while (next_line(&line, &rest)) {
        number++;
        if (!says_nothing(line))
            RGM_TRY(read_line(v, line, number, entries, path));
    }
    return finish(v, path);
}

static rgm_status read_json(rgmi_vocabulary *v, const char *path)
{
    rgm_json *json = NULL;
    rgm_status status;

    RGM_TRY(rgm_json_parse(&json, v->file.data, v->file.size, path));
    status = read_object(v, json, path);
    rgm_json_release(json);
    return status;
}

/* The file is the model itself: its pieces keep their order. */
static rgm_status read_model(rgmi_vocabulary *v, const rgmi_sentencepiece *processor,
                             const char *path)
{
    int32_t entries = rgmi_sentencepiece_size(processor),
            unknown = rgmi_sentencepiece_unk_id(processor),
            pad = rgmi_sentencepiece_find(processor, pad_piece);

    RGM_TRY(begin(v, entries, pad == unknown ? -1 : pad, path));
    for (int32_t id = 0; id < entries; id++)
        RGM_TRY(add_entry(v, rgmi_sentencepiece_piece(processor, id), id, entries, path));
    return finish(v, path);
}

rgm_status rgmi_vocabulary_open(rgmi_vocabulary **out, const char *path,
                                const rgmi_sentencepiece *processor, const rgm_text *model)
{
    rgm_status status = RGM_OK;
    rgmi_vocabulary *v = NULL;
    char *data = NULL;
    int64_t size;

    *out = NULL;
    RGM_GO(rgm_file_load(&data, &size, path, LARGEST_FILE));
    RGM_GO(RGM_NEW(v, 1));
    RGM_GO(rgm_text_add(&v->file, data, size));
    if (size == model->size && memcmp(data, model->data, (size_t)size) == 0)
        RGM_GO(read_model(v, processor, path));
    else if (size > 0 && data[strspn(data, " \t\r\n")] != '{')
        RGM_GO(read_lines(v, path));
    else
        RGM_GO(read_json(v, path));
    *out = v;
    v = NULL;
done:
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
