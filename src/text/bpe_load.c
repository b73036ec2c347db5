/*
 * tokenizer.json of Hugging Face's tokenizers: what of it is known here, and by its name what is
 * not. Files may come from strangers: every number in them is checked.
 */
#include "bpe_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_TOKEN = 1 << 16,
    MOST_HOLES = 1 << 16 /* ids that no token has */
};

static const char mark[] = "\xe2\x96\x81"; /* U+2581 */

/** A file being read. */
typedef struct reader {
    rgmi_bpe *bpe;
    const char *name;
    bool splits; /* an expression for words was named */
} reader;

static rgm_status damaged(const reader *r, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: %s", r->name, what);
}

static rgm_status unknown(const reader *r, const char *key, const char *what)
{
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: %s: '%s' is not known here", r->name, key, what);
}

static const char *text_of(const rgm_json *object, const char *key)
{
    return rgm_json_text(rgm_json_find(object, key));
}

static bool is_set(const rgm_json *object, const char *key, bool otherwise)
{
    (void)rgm_json_bool(&otherwise, rgm_json_find(object, key));
    return otherwise;
}

static rgm_status keep(rgm_str *out, const reader *r, const char *text)
{
    out->data = rgm_arena_strdup(r->bpe->texts, text);
    out->size = (int64_t)strlen(text);
    return out->data != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %s", r->name);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static rgm_status put_token(const reader *r, const char *text, int64_t id, bool special)
{
    rgmi_bpe *bpe = r->bpe;
    int64_t size = (int64_t)strlen(text);
    rgmi_bpe_token *token;

    if (size == 0 || size > LONGEST_TOKEN)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: the token of id %lld has %lld bytes; 1 to %d", r->name,
                        (long long)id, (long long)size, LONGEST_TOKEN);
    token = &bpe->tokens[id];
    if (token->size > 0) {
        if (token->size != size || memcmp(bpe->bytes + token->at, text, (size_t)size) != 0)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: two tokens have the id %lld", r->name,
                            (long long)id);
        token->special |= special;
        return RGM_OK;
    }
    RGM_TRY(RGM_RESERVE(bpe->bytes, bpe->byte_capacity, bpe->byte_count + size + 1));
    memcpy(bpe->bytes + bpe->byte_count, text, (size_t)size + 1);
    *token = (rgmi_bpe_token){bpe->byte_count, (int32_t)size, special};
    bpe->byte_count += size + 1;
    return RGM_OK;
}

/* One more than the largest id of both lists; what is no list has none. */
static rgm_status count_ids(const reader *r, const rgm_json *vocabulary, const rgm_json *added)
{
    rgm_json_entry entry = {0};
    int64_t id, tokens = 0;

    while (rgm_json_next(&entry, vocabulary)) {
        if (!rgm_json_int(&id, entry.value) || id < 0)
            return damaged(r, "model.vocab has an id that is no whole number from 0 on");
        r->bpe->count = id >= r->bpe->count && id < INT32_MAX ? id + 1 : r->bpe->count;
        tokens++;
    }
    for (int64_t i = 0; i < rgm_json_count(added); i++, tokens++) {
        if (!rgm_json_int(&id, rgm_json_find(rgm_json_at(added, i), "id")) || id < 0 ||
            text_of(rgm_json_at(added, i), "content") == NULL)
            return damaged(r, "added_tokens has an entry without a 'content' or an 'id'");
        r->bpe->count = id >= r->bpe->count && id < INT32_MAX ? id + 1 : r->bpe->count;
    }
    if (tokens == 0)
        return damaged(r, "model.vocab has no tokens");
    if (r->bpe->count > 2 * tokens + MOST_HOLES)
        return damaged(r, "most ids below the largest one have no token");
    return RGM_OK;
}

static rgm_status read_tokens(const reader *r, const rgm_json *vocabulary, const rgm_json *added)
{
    rgm_json_entry entry = {0};
    int64_t id;

    if (!rgm_json_is_object(vocabulary))
        return damaged(r, "model.vocab is no object of tokens and their ids");
    RGM_TRY(count_ids(r, vocabulary, added));
    RGM_TRY(RGM_NEW(r->bpe->tokens, r->bpe->count));
    while (rgm_json_next(&entry, vocabulary)) {
        (void)rgm_json_int(&id, entry.value);
        if (id >= r->bpe->count)
            return damaged(r, "model.vocab has an id above 2^31");
        RGM_TRY(put_token(r, entry.key, id, false));
    }
    for (int64_t i = 0; i < rgm_json_count(added); i++) {
        const rgm_json *token = rgm_json_at(added, i);

        (void)rgm_json_int(&id, rgm_json_find(token, "id"));
        if (id >= r->bpe->count)
            return damaged(r, "added_tokens has an id above 2^31");
        RGM_TRY(put_token(r, text_of(token, "content"), id, is_set(token, "special", false)));
    }
    return RGM_OK;
}

/* Longer ones first, so that the first that fits is the longest. */
static int by_length(const void *a, const void *b)
{
    const rgmi_bpe_added *x = a, *y = b;

    if (x->text.size != y->text.size)
        return x->text.size > y->text.size ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static rgm_status read_added(const reader *r, const rgm_json *list)
{
    rgm_status status = RGM_OK;
    rgmi_bpe *bpe = r->bpe;
    rgm_text text = {0};
    int64_t count = rgm_json_count(list) > 0 ? rgm_json_count(list) : 0, id;

    RGM_GO(RGM_NEW(bpe->added, count + 1));
    for (int64_t i = 0; i < count; i++) {
        const rgm_json *token = rgm_json_at(list, i);
        rgmi_bpe_added *a = &bpe->added[bpe->added_count];

        (void)rgm_json_int(&id, rgm_json_find(token, "id"));
        if (is_set(token, "single_word", false))
            RGM_GO(unknown(r, "added_tokens", "single_word"));
        *a = (rgmi_bpe_added){.id = (int32_t)id,
                              .normalized = is_set(token, "normalized", false),
                              .left = is_set(token, "lstrip", false),
                              .right = is_set(token, "rstrip", false)};
        text.size = 0;
        RGM_GO(rgm_text_printf(&text, "%s", text_of(token, "content")));
        if (a->normalized)
            RGM_GO(rgm_error_prefix(rgmi_bpe_normalize(&text, bpe), "%s: added_tokens", r->name));
        if (text.size == 0)
            continue;
        RGM_GO(keep(&a->text, r, text.data));
        bpe->begins[(uint8_t)a->text.data[0]] = true;
        bpe->added_count++;
    }
    qsort(bpe->added, (size_t)bpe->added_count, sizeof *bpe->added, by_length);
done:
    rgm_text_clear(&text);
    return status;
}

/* ---- merges ---------------------------------------------------------------------------------- */

/* Both sides of "a b", or of ["a", "b"]. */
static bool sides_of(rgm_str *left, rgm_str *right, const rgm_json *merge)
{
    const char *text = rgm_json_text(merge), *space;
    const char *a = rgm_json_text(rgm_json_at(merge, 0)), *b = rgm_json_text(rgm_json_at(merge, 1));

    if (text != NULL) {
        space = strchr(text, ' ');
        if (space == NULL || strchr(space + 1, ' ') != NULL)
            return false;
        *left = (rgm_str){text, space - text};
        *right = (rgm_str){space + 1, (int64_t)strlen(space + 1)};
        return true;
    }
    if (rgm_json_count(merge) != 2 || a == NULL || b == NULL)
        return false;
    *left = (rgm_str){a, (int64_t)strlen(a)};
    *right = (rgm_str){b, (int64_t)strlen(b)};
    return true;
}

static rgm_status read_merges(const reader *r, const rgm_json *list)
{
    rgm_status status = RGM_OK;
    rgm_text made = {0};
    int64_t count = rgm_json_count(list);

    if (count < 0 || count >= INT32_MAX)
        return damaged(r, "model.merges is no list");
    RGM_TRY(rgmi_bpe_index(r->bpe, count));
    for (int64_t i = 0; i < count; i++) {
        int32_t a, b, id;
        rgm_str left, right;

        if (!sides_of(&left, &right, rgm_json_at(list, i)))
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s: model.merges[%lld] is no pair of two texts",
                            r->name, (long long)i));
        made.size = 0;
        RGM_GO(rgm_text_add(&made, left.data, left.size));
        RGM_GO(rgm_text_add(&made, right.data, right.size));
        a = rgmi_bpe_find(r->bpe, left.data, left.size);
        b = rgmi_bpe_find(r->bpe, right.data, right.size);
        id = rgmi_bpe_find(r->bpe, made.data, made.size);
        if (a < 0 || b < 0 || id < 0)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                            "%s: model.merges[%lld]: model.vocab lacks '%.*s', '%.*s' or what "
                            "both make together",
                            r->name, (long long)i, (int)left.size, left.data, (int)right.size,
                            right.data));
        rgmi_bpe_put_merge(r->bpe, a, b, (int32_t)i, id);
    }
    r->bpe->merge_count = count;
done:
    rgm_text_clear(&made);
    return status;
}

/* ---- normalizer and decoder: lists of steps ---------------------------------------------------
 */

static rgm_status read_replace(rgmi_bpe_step *step, const reader *r, const char *key,
                               const rgm_json *json)
{
    const char *pattern = text_of(rgm_json_find(json, "pattern"), "String");

    step->kind = RGMI_STEP_REPLACE;
    if (pattern == NULL || *pattern == 0 || text_of(json, "content") == NULL)
        return unknown(r, key, "Replace of anything but a text");
    RGM_TRY(keep(&step->from, r, pattern));
    return keep(&step->to, r, text_of(json, "content"));
}

static rgm_status read_normalizer(rgmi_bpe_step *step, const reader *r, const rgm_json *json,
                                  const char *type)
{
    static const char *const forms[] = {"NFC", "NFD", "NFKC", "NFKD"};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(type, forms[i]) == 0) {
            step->kind = RGMI_STEP_FORM;
            return keep(&step->from, r, forms[i]);
        }
    if (strcmp(type, "Replace") == 0)
        return read_replace(step, r, "normalizer", json);
    if (strcmp(type, "Prepend") != 0 || text_of(json, "prepend") == NULL)
        return unknown(r, "normalizer", type);
    step->kind = RGMI_STEP_PREPEND;
    return keep(&step->to, r, text_of(json, "prepend"));
}

/* "never", "first" or "always"; files of before have add_prefix_space. */
static rgm_status read_prefix(rgmi_bpe_prefix *out, const reader *r, const char *key,
                              const rgm_json *json)
{
    const char *scheme = text_of(json, "prepend_scheme"), *character = text_of(json, "replacement");

    if (character == NULL || strcmp(character, mark) != 0)
        return unknown(r, key, "a Metaspace with another replacement than U+2581");
    *out = is_set(json, "add_prefix_space", true) ? RGMI_PREFIX_ALWAYS : RGMI_PREFIX_NEVER;
    if (scheme == NULL)
        return RGM_OK;
    if (strcmp(scheme, "never") == 0)
        *out = RGMI_PREFIX_NEVER;
    else if (strcmp(scheme, "first") == 0)
        *out = RGMI_PREFIX_FIRST;
    else if (strcmp(scheme, "always") == 0)
        *out = RGMI_PREFIX_ALWAYS;
    else
        return unknown(r, key, scheme);
    return RGM_OK;
}

static rgm_status read_strip(rgmi_bpe_step *step, const reader *r, const rgm_json *json)
{
    const char *content = text_of(json, "content");

    step->kind = RGMI_STEP_STRIP;
    if (content == NULL || *content == 0 ||
        !rgm_json_int(&step->start, rgm_json_find(json, "start")) ||
        !rgm_json_int(&step->stop, rgm_json_find(json, "stop")))
        return damaged(r, "decoder: a Strip without content, start or stop");
    return keep(&step->from, r, content);
}

static rgm_status read_decoder(rgmi_bpe_step *step, const reader *r, const rgm_json *json,
                               const char *type)
{
    rgmi_bpe_prefix prefix;

    if (strcmp(type, "Replace") == 0)
        return read_replace(step, r, "decoder", json);
    if (strcmp(type, "Strip") == 0)
        return read_strip(step, r, json);
    if (strcmp(type, "Metaspace") == 0) {
        RGM_TRY(read_prefix(&prefix, r, "decoder", json));
        step->kind = prefix == RGMI_PREFIX_NEVER ? RGMI_STEP_MARKS_ALL : RGMI_STEP_MARKS;
        return RGM_OK;
    }
    if (strcmp(type, "ByteLevel") == 0)
        step->kind = RGMI_STEP_BYTE_LEVEL;
    else if (strcmp(type, "ByteFallback") == 0)
        step->kind = RGMI_STEP_FALLBACK;
    else if (strcmp(type, "Fuse") == 0)
        step->kind = RGMI_STEP_FUSE;
    else
        return unknown(r, "decoder", type);
    return RGM_OK;
}

typedef rgm_status read_step(rgmi_bpe_step *step, const reader *r, const rgm_json *json,
                             const char *type);

/* One step, or a Sequence of them in its list `parts`. */
static rgm_status read_steps(rgmi_bpe_step *steps, int64_t *count, const reader *r,
                             const rgm_json *json, const char *key, const char *parts,
                             read_step *read)
{
    const char *type = text_of(json, "type");

    if (json == NULL || (type == NULL && !rgm_json_is_object(json)))
        return RGM_OK; /* null */
    if (type == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: %s has no type", r->name, key);
    if (strcmp(type, "Sequence") != 0) {
        if (*count == RGMI_BPE_STEPS)
            return unknown(r, key, "more than 16 steps");
        RGM_TRY(read(&steps[*count], r, json, type));
        ++*count;
        return RGM_OK;
    }
    json = rgm_json_find(json, parts);
    for (int64_t i = 0; i < rgm_json_count(json); i++) {
        const char *inner = text_of(rgm_json_at(json, i), "type");

        if (inner == NULL || strcmp(inner, "Sequence") == 0)
            return unknown(r, key, "a Sequence in a Sequence");
        RGM_TRY(read_steps(steps, count, r, rgm_json_at(json, i), key, parts, read));
    }
    return RGM_OK;
}

/* ---- pre-tokenizer ----------------------------------------------------------------------------
 */

#define LIKE_LLAMA3(digits)                                                                        \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" digits                     \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static rgm_status read_split(reader *r, const rgm_json *json)
{
    static const struct {
        const char *expression;
        rgmi_bpe_words words;
    } known[] = {{LIKE_LLAMA3("{1,3}"), RGMI_WORDS_LLAMA3},
                 {LIKE_LLAMA3(""), RGMI_WORDS_QWEN2},
                 {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|"
                  "\\s+",
                  RGMI_WORDS_GPT2}};
    const char *expression = text_of(rgm_json_find(json, "pattern"), "Regex"),
               *behaviour = text_of(json, "behavior");

    if (r->splits)
        return unknown(r, "pre_tokenizer", "two Splits");
    r->splits = true;
    if (expression == NULL || behaviour == NULL || strcmp(behaviour, "Isolated") != 0 ||
        is_set(json, "invert", false))
        return unknown(r, "pre_tokenizer", "a Split that is not Isolated by a Regex");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].expression, expression) == 0) {
            r->bpe->words = known[i].words;
            return RGM_OK;
        }
    return unknown(r, "pre_tokenizer: Split", expression);
}

static rgm_status read_byte_level(reader *r, const rgm_json *json)
{
    r->bpe->byte_level = true;
    r->bpe->space_before = is_set(json, "add_prefix_space", true);
    if (r->splits && r->bpe->space_before)
        return unknown(r, "pre_tokenizer", "add_prefix_space behind a Split");
    if (!is_set(json, "use_regex", true))
        return RGM_OK;
    if (r->splits)
        return unknown(r, "pre_tokenizer", "use_regex behind a Split");
    r->bpe->words = RGMI_WORDS_GPT2;
    return RGM_OK;
}

static rgm_status read_pre_tokenizer(reader *r, const rgm_json *json, bool inside)
{
    const char *type = text_of(json, "type");

    if (json == NULL || (type == NULL && !rgm_json_is_object(json)))
        return RGM_OK; /* null */
    if (type == NULL)
        return damaged(r, "pre_tokenizer has no type");
    if (r->bpe->byte_level || r->bpe->marks)
        return unknown(r, "pre_tokenizer", "a step behind ByteLevel or Metaspace");
    if (strcmp(type, "Sequence") == 0 && !inside) {
        json = rgm_json_find(json, "pretokenizers");
        for (int64_t i = 0; i < rgm_json_count(json); i++)
            RGM_TRY(read_pre_tokenizer(r, rgm_json_at(json, i), true));
        return RGM_OK;
    }
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(r, json);
    if (strcmp(type, "Split") == 0)
        return read_split(r, json);
    if (strcmp(type, "Metaspace") != 0 || r->splits)
        return unknown(r, "pre_tokenizer", type);
    r->bpe->marks = true;
    r->bpe->words = is_set(json, "split", true) ? RGMI_WORDS_MARKED : RGMI_WORDS_WHOLE;
    return read_prefix(&r->bpe->prefix, r, "pre_tokenizer", json);
}

/* ---- the model --------------------------------------------------------------------------------
 */

static rgm_status check_model(const reader *r, const rgm_json *model)
{
    static const char *const endings[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const char *type = text_of(model, "type");
    double dropout = 0;

    if (!rgm_json_is_object(model))
        return damaged(r, "no tokenizer.json: it has no 'model'");
    if (type != NULL && strcmp(type, "BPE") != 0)
        return unknown(r, "model.type", type);
    for (int i = 0; i < 2; i++) {
        const char *text = text_of(model, endings[i]);
        if (text != NULL && *text != 0)
            return unknown(r, "model", endings[i]);
    }
    if (rgm_json_number(&dropout, rgm_json_find(model, "dropout")) && dropout != 0)
        return unknown(r, "model", "dropout");
    return RGM_OK;
}

static rgm_status read_bytes(const reader *r)
{
    rgmi_bpe *bpe = r->bpe;

    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        int size;

        bpe->byte_ids[byte] = -1;
        if (bpe->byte_level)
            size = rgmi_byte_character(text, (uint8_t)byte);
        else
            size = snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
        if (bpe->byte_level || bpe->byte_fallback)
            bpe->byte_ids[byte] = rgmi_bpe_find(bpe, text, size);
        if (bpe->byte_fallback && !bpe->byte_level && bpe->byte_ids[byte] < 0)
            return damaged(r, "model.byte_fallback without the 256 tokens <0x00> to <0xFF>");
    }
    return RGM_OK;
}

/* The first of the usual names that a special token has; -1: none. */
static int32_t special_id(const rgmi_bpe *bpe, const char *const *names)
{
    for (; *names != NULL; names++) {
        int32_t id = rgmi_bpe_find(bpe, *names, (int64_t)strlen(*names));
        if (id >= 0 && bpe->tokens[id].special)
            return id;
    }
    return -1;
}

static rgm_status read_special(const reader *r, const rgm_json *model)
{
    static const char *const
        pads[] = {"<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>", NULL},
        *const begins[] = {"<s>", "<|begin_of_text|>", "<|startoftext|>", "<bos>", "[BOS]", NULL},
        *const ends[] = {"</s>", "<|end_of_text|>", "<|endoftext|>", "<eos>", "[EOS]", NULL};
    rgmi_bpe *bpe = r->bpe;
    const char *unknown_token = text_of(model, "unk_token");

    bpe->pad_id = special_id(bpe, pads);
    bpe->bos_id = special_id(bpe, begins);
    bpe->eos_id = special_id(bpe, ends);
    bpe->unk_id = -1;
    if (unknown_token == NULL)
        return RGM_OK;
    bpe->unk_id = rgmi_bpe_find(bpe, unknown_token, (int64_t)strlen(unknown_token));
    return bpe->unk_id >= 0 ? RGM_OK : damaged(r, "model.unk_token is no token");
}

static rgm_status read_all(reader *r, const rgm_json *file)
{
    const rgm_json *model = rgm_json_find(file, "model"),
                   *added = rgm_json_find(file, "added_tokens");
    rgmi_bpe *bpe = r->bpe;

    RGM_TRY(check_model(r, model));
    bpe->byte_fallback = is_set(model, "byte_fallback", false);
    bpe->fuse_unk = is_set(model, "fuse_unk", false);
    bpe->ignore_merges = is_set(model, "ignore_merges", false);
    RGM_TRY(read_tokens(r, rgm_json_find(model, "vocab"), added));
    RGM_TRY(read_merges(r, rgm_json_find(model, "merges")));
    RGM_TRY(read_steps(bpe->normalizer, &bpe->normalizer_count, r,
                       rgm_json_find(file, "normalizer"), "normalizer", "normalizers",
                       read_normalizer));
    RGM_TRY(read_steps(bpe->decoder, &bpe->decoder_count, r, rgm_json_find(file, "decoder"),
                       "decoder", "decoders", read_decoder));
    RGM_TRY(read_pre_tokenizer(r, rgm_json_find(file, "pre_tokenizer"), false));
    RGM_TRY(read_added(r, added));
    RGM_TRY(read_special(r, model));
    return read_bytes(r);
}

rgm_status rgmi_bpe_open(rgmi_bpe **out, const char *json, int64_t size, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_json *file = NULL;
    rgmi_bpe *bpe = NULL;

    *out = NULL;
    RGM_GO(rgm_json_parse(&file, json, size, name));
    RGM_GO(RGM_NEW(bpe, 1));
    RGM_GO(rgm_arena_create(&bpe->texts));
    RGM_GO(read_all(&(reader){.bpe = bpe, .name = name}, file));
    *out = bpe;
    bpe = NULL;
done:
    rgm_json_release(file);
    rgmi_bpe_close(bpe);
    return status;
}

void rgmi_bpe_close(rgmi_bpe *bpe)
{
    if (bpe == NULL)
        return;
    rgm_arena_release(bpe->texts);
    rgm_free(bpe->bytes);
    rgm_free(bpe->tokens);
    rgm_free(bpe->slots);
    rgm_free(bpe->merges);
    rgm_free(bpe->added);
    rgm_free(bpe);
}
