/*
 * Text to ids and back, in the order of Hugging Face's pipeline: added tokens are cut out of the
 * text, the rest is normalized, falls into words, and words are merged. Back: texts of the ids
 * through the steps of the decoder.
 */
#include "bpe_internal.h"

#include <stdlib.h>
#include <string.h>
#include <uninorm.h>

static const char mark[] = "\xe2\x96\x81"; /* U+2581 */

/* ---- normalizing ----------------------------------------------------------------------------- */

/* Sixteen steps that each put many characters in the place of one make any amount of text. The
 * longest that Unicode has for a character, in its form NFKC, is eleven times as long. */
static int64_t most_of(int64_t size)
{
    return (INT64_C(1) << 16) + 16 * size;
}

static rgm_status check_most(int64_t size, int64_t most, const char *part)
{
    return size <= most
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_DATA, "the tokenizer's %s makes more than %lld bytes of one text",
                          part, (long long)most);
}

static rgm_status replace(rgm_text *out, rgm_str text, rgm_str from, rgm_str to)
{
    for (int64_t i = 0; i < text.size;) {
        if (from.size > 0 && text.size - i >= from.size &&
            memcmp(text.data + i, from.data, (size_t)from.size) == 0) {
            RGM_TRY(rgm_text_add(out, to.data, to.size));
            i += from.size;
        } else {
            RGM_TRY(rgm_text_add(out, text.data + i++, 1));
        }
    }
    return RGM_OK;
}

static rgm_status to_form(rgm_text *out, rgm_str text, rgm_str name)
{
    uninorm_t form = UNINORM_NFC;
    rgm_status status;
    uint8_t *made;
    size_t size;

    if (strcmp(name.data, "NFKC") == 0)
        form = UNINORM_NFKC;
    else if (strcmp(name.data, "NFD") == 0)
        form = UNINORM_NFD;
    else if (strcmp(name.data, "NFKD") == 0)
        form = UNINORM_NFKD;
    made = u8_normalize(form, (const uint8_t *)text.data, (size_t)text.size, NULL, &size);
    if (made == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: the normal form of a text");
    status = rgm_text_add(out, made, (int64_t)size);
    free(made);
    return status;
}

/* What replace() would make of a text, known before there is room for it. */
static int64_t size_replaced(rgm_str text, rgm_str from, rgm_str to)
{
    int64_t found = 0;

    for (int64_t i = 0; i + from.size <= text.size;) {
        bool fits = memcmp(text.data + i, from.data, (size_t)from.size) == 0;

        found += fits;
        i += fits ? from.size : 1;
    }
    return text.size + found * (to.size - from.size);
}

static rgm_status normalize_by(rgm_text *out, const rgmi_bpe_step *step, rgm_str text)
{
    switch (step->kind) {
    case RGMI_STEP_PREPEND:
        RGM_TRY(rgm_text_add(out, step->to.data, step->to.size));
        return rgm_text_add(out, text.data, text.size);
    case RGMI_STEP_REPLACE:
        return replace(out, text, step->from, step->to);
    default:
        return to_form(out, text, step->from);
    }
}

rgm_status rgmi_bpe_normalize(rgm_text *text, const rgmi_bpe *bpe)
{
    int64_t most = most_of(text->size);

    for (int64_t i = 0; i < bpe->normalizer_count && text->size > 0; i++) {
        const rgmi_bpe_step *step = &bpe->normalizer[i];
        rgm_str before = {text->data, text->size};
        rgm_text made = {0};
        rgm_status status =
            step->kind == RGMI_STEP_REPLACE
                ? check_most(size_replaced(before, step->from, step->to), most, "normalizer")
                : RGM_OK;

        if (status == RGM_OK)
            status = normalize_by(&made, step, before);
        if (status == RGM_OK)
            status = check_most(made.size, most, "normalizer");
        if (status != RGM_OK) {
            rgm_text_clear(&made);
            return status;
        }
        rgm_text_clear(text);
        *text = made;
    }
    return RGM_OK;
}

/* ---- encoding -------------------------------------------------------------------------------- */

typedef struct coder {
    const rgmi_bpe *bpe;
    rgm_ids *ids;
    rgmi_bpe_work *work;
    rgmi_bpe_draws *draws;
    rgm_text text; /* of a piece between added tokens */
} coder;

static rgm_status encode_words(coder *c, rgm_str text)
{
    int64_t size;

    for (int64_t at = 0; at < text.size; at += size) {
        size = rgmi_bpe_word(c->bpe->words, text.data + at, text.size - at);
        RGM_TRY(rgmi_bpe_merge_word(c->ids, c->work, c->bpe, text.data + at, size, c->draws));
    }
    return RGM_OK;
}

/* Normalized text without added tokens; first: nothing came before it. */
static rgm_status encode_plain(coder *c, rgm_str text, bool first)
{
    const rgmi_bpe *bpe = c->bpe;
    rgm_text prepared = {0};
    rgm_status status = RGM_OK;
    bool begins;

    if (text.size == 0)
        return RGM_OK;
    if (bpe->marks) {
        begins = text.data[0] == ' ' || (text.size >= 3 && memcmp(text.data, mark, 3) == 0);
        if (!begins &&
            (bpe->prefix == RGMI_PREFIX_ALWAYS || (bpe->prefix == RGMI_PREFIX_FIRST && first)))
            RGM_GO(rgm_text_add(&prepared, mark, 3));
        RGM_GO(replace(&prepared, text, (rgm_str){" ", 1}, (rgm_str){mark, 3}));
    } else if (bpe->space_before && text.data[0] != ' ') {
        RGM_GO(rgm_text_add(&prepared, " ", 1));
        RGM_GO(rgm_text_add(&prepared, text.data, text.size));
    } else {
        return encode_words(c, text);
    }
    status = encode_words(c, (rgm_str){prepared.data, prepared.size});
done:
    rgm_text_clear(&prepared);
    return status;
}

/* The longest added token that begins there. */
static const rgmi_bpe_added *added_at(const rgmi_bpe *bpe, rgm_str text, int64_t at,
                                      bool normalized)
{
    if (!bpe->begins[(uint8_t)text.data[at]])
        return NULL;
    for (int64_t i = 0; i < bpe->added_count; i++) {
        const rgmi_bpe_added *a = &bpe->added[i];

        if (a->normalized == normalized && a->text.size <= text.size - at &&
            memcmp(a->text.data, text.data + at, (size_t)a->text.size) == 0)
            return a;
    }
    return NULL;
}

/* Where the white space before `at` begins, not before `from`; and where that behind it ends. */
static int64_t space_before(rgm_str text, int64_t from, int64_t at)
{
    int64_t start = at;
    uint32_t code;

    for (int64_t i = from; i < at;) {
        int bytes = rgmi_code_at(&code, text.data, i, text.size);

        if (!rgmi_is_white_space(code))
            start = at;
        else if (start == at)
            start = i;
        i += bytes;
    }
    return start;
}

static int64_t space_behind(rgm_str text, int64_t at)
{
    uint32_t code;
    int bytes;

    while ((bytes = rgmi_code_at(&code, text.data, at, text.size)) > 0 && rgmi_is_white_space(code))
        at += bytes;
    return at;
}

typedef rgm_status encode_rest(coder *c, rgm_str text, bool first);

/* Added tokens of one of the two kinds become ids, and `rest` takes what lies between them. */
static rgm_status cut_added(coder *c, rgm_str text, bool first, bool normalized, encode_rest *rest)
{
    int64_t from = 0;

    for (int64_t at = 0; at < text.size;) {
        const rgmi_bpe_added *a = added_at(c->bpe, text, at, normalized);
        int64_t start = at;

        if (a == NULL) {
            at++;
            continue;
        }
        if (a->left)
            start = space_before(text, from, at);
        RGM_TRY(rest(c, (rgm_str){text.data + from, start - from}, first && from == 0));
        RGM_TRY(RGM_RESERVE(c->ids->items, c->ids->capacity, c->ids->count + 1));
        c->ids->items[c->ids->count++] = a->id;
        at += a->text.size;
        if (a->right)
            at = space_behind(text, at);
        from = at;
    }
    return rest(c, (rgm_str){text.data + from, text.size - from}, first && from == 0);
}

static rgm_status encode_raw(coder *c, rgm_str text, bool first)
{
    if (text.size == 0)
        return RGM_OK;
    if (c->bpe->normalizer_count == 0)
        return cut_added(c, text, first, true, encode_plain);
    c->text.size = 0;
    RGM_TRY(rgm_text_add(&c->text, text.data, text.size));
    RGM_TRY(rgmi_bpe_normalize(&c->text, c->bpe));
    return cut_added(c, (rgm_str){c->text.data, c->text.size}, first, true, encode_plain);
}

rgm_status rgmi_bpe_encode(rgm_ids *ids, const rgmi_bpe *bpe, const char *text, int64_t size,
                           rgmi_bpe_draws *draws)
{
    coder c = {.bpe = bpe, .ids = ids, .draws = draws};
    int64_t bad = rgm_utf8_check(text, size);
    rgm_status status;

    if (bad >= 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "byte %lld (0x%02x) is not UTF-8", (long long)bad + 1,
                        (unsigned)(uint8_t)text[bad]);
    RGM_TRY(rgmi_bpe_work_create(&c.work));
    status = cut_added(&c, (rgm_str){text, size}, true, false, encode_raw);
    rgmi_bpe_work_release(c.work);
    rgm_text_clear(&c.text);
    return status;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/** Texts of tokens, one behind the other. */
typedef struct pieces {
    rgm_text text;
    int64_t *ends; /* [count] */
    int64_t count, capacity;
} pieces;

static void pieces_clear(pieces *p)
{
    rgm_text_clear(&p->text);
    rgm_free(p->ends);
    *p = (pieces){0};
}

static rgm_status end_piece(pieces *p)
{
    RGM_TRY(RGM_RESERVE(p->ends, p->capacity, p->count + 1));
    p->ends[p->count++] = p->text.size;
    return RGM_OK;
}

static rgm_str piece_at(const pieces *p, int64_t i)
{
    int64_t start = i > 0 ? p->ends[i - 1] : 0;

    return (rgm_str){p->text.size > 0 ? p->text.data + start : "", p->ends[i] - start};
}

/* How many bytes of a text that is not UTF-8 there become one U+FFFD: the longest beginning of a
 * character (Unicode 15, 3.9). */
static int64_t bad_bytes(const uint8_t *text, int64_t size)
{
    static const struct {
        uint8_t from, to, low, high;
        int more;
    } leads[] = {{0xe0, 0xe0, 0xa0, 0xbf, 2}, {0xe1, 0xec, 0x80, 0xbf, 2},
                 {0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2},
                 {0xf0, 0xf0, 0x90, 0xbf, 3}, {0xf1, 0xf3, 0x80, 0xbf, 3},
                 {0xf4, 0xf4, 0x80, 0x8f, 3}};

    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        int64_t good = 1;

        if (text[0] < leads[i].from || text[0] > leads[i].to)
            continue;
        if (size < 2 || text[1] < leads[i].low || text[1] > leads[i].high)
            return 1;
        for (good = 2; good <= leads[i].more && good < size && (text[good] & 0xc0) == 0x80; good++)
            ;
        return good;
    }
    return 1;
}

static rgm_status add_as_utf8(rgm_text *out, const char *text, int64_t size)
{
    while (size > 0) {
        int64_t good = rgm_utf8_check(text, size);

        if (good < 0)
            return rgm_text_add(out, text, size);
        RGM_TRY(rgm_text_add(out, text, good));
        RGM_TRY(rgm_text_add(out, "\xef\xbf\xbd", 3));
        good += bad_bytes((const uint8_t *)text + good, size - good);
        text += good;
        size -= good;
    }
    return RGM_OK;
}

/* All pieces become one: characters that stand for bytes, or what has others as it is. */
static rgm_status decode_byte_level(pieces *out, const pieces *in)
{
    rgm_status status = RGM_OK;
    rgm_text bytes = {0};

    for (int64_t i = 0; i < in->count; i++) {
        rgm_str piece = piece_at(in, i);
        int64_t before = bytes.size, at = 0;
        uint32_t code;

        while (at < piece.size) {
            int size = rgmi_code_at(&code, piece.data, at, piece.size);
            int byte = rgmi_character_byte(code);
            char c = (char)byte;

            if (byte < 0)
                break;
            RGM_GO(rgm_text_add(&bytes, &c, 1));
            at += size;
        }
        if (at < piece.size) {
            bytes.size = before;
            RGM_GO(rgm_text_add(&bytes, piece.data, piece.size));
        }
    }
    RGM_GO(add_as_utf8(&out->text, bytes.data, bytes.size));
    status = end_piece(out);
done:
    rgm_text_clear(&bytes);
    return status;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of "<0x0A>", -1 for another text. */
static int fallback_byte(rgm_str piece)
{
    int high, low;

    if (piece.size != 6 || memcmp(piece.data, "<0x", 3) != 0 || piece.data[5] != '>')
        return -1;
    high = hex_digit(piece.data[3]);
    low = hex_digit(piece.data[4]);
    return high >= 0 && low >= 0 ? high * 16 + low : -1;
}

/* A run of bytes: one piece if it is UTF-8, else as many U+FFFD as it has bytes. */
static rgm_status end_bytes(pieces *out, rgm_text *bytes)
{
    bool good = rgm_utf8_check(bytes->data, bytes->size) < 0;

    if (bytes->size == 0)
        return RGM_OK;
    if (good) {
        RGM_TRY(rgm_text_add(&out->text, bytes->data, bytes->size));
        RGM_TRY(end_piece(out));
    }
    for (int64_t i = 0; i < bytes->size && !good; i++) {
        RGM_TRY(rgm_text_add(&out->text, "\xef\xbf\xbd", 3));
        RGM_TRY(end_piece(out));
    }
    bytes->size = 0;
    return RGM_OK;
}

static rgm_status decode_fallback(pieces *out, const pieces *in)
{
    rgm_status status = RGM_OK;
    rgm_text bytes = {0};

    for (int64_t i = 0; i < in->count; i++) {
        rgm_str piece = piece_at(in, i);
        int byte = fallback_byte(piece);
        char c = (char)byte;

        if (byte >= 0) {
            RGM_GO(rgm_text_add(&bytes, &c, 1));
            continue;
        }
        RGM_GO(end_bytes(out, &bytes));
        RGM_GO(rgm_text_add(&out->text, piece.data, piece.size));
        RGM_GO(end_piece(out));
    }
    status = end_bytes(out, &bytes);
done:
    rgm_text_clear(&bytes);
    return status;
}

static rgm_str strip(rgm_str piece, const rgmi_bpe_step *step)
{
    int64_t size = step->from.size;

    for (int64_t i = 0; i < step->start && piece.size >= size &&
                        memcmp(piece.data, step->from.data, (size_t)size) == 0;
         i++) {
        piece.data += size;
        piece.size -= size;
    }
    for (int64_t i = 0; i < step->stop && piece.size >= size &&
                        memcmp(piece.data + piece.size - size, step->from.data, (size_t)size) == 0;
         i++)
        piece.size -= size;
    return piece;
}

static rgm_status decode_piece(pieces *out, const rgmi_bpe_step *step, rgm_str piece, bool first)
{
    rgm_str from = {mark, 3};

    switch (step->kind) {
    case RGMI_STEP_REPLACE:
        RGM_TRY(replace(&out->text, piece, step->from, step->to));
        return end_piece(out);
    case RGMI_STEP_MARKS:
    case RGMI_STEP_MARKS_ALL:
        first = first && step->kind == RGMI_STEP_MARKS;
        RGM_TRY(replace(&out->text, piece, from, (rgm_str){" ", first ? 0 : 1}));
        return end_piece(out);
    case RGMI_STEP_STRIP:
        piece = strip(piece, step);
        /* fall through */
    default: /* fuse */
        RGM_TRY(rgm_text_add(&out->text, piece.data, piece.size));
        return step->kind == RGMI_STEP_FUSE ? RGM_OK : end_piece(out);
    }
}

static rgm_status decode_by(pieces *out, const rgmi_bpe_step *step, const pieces *in, int64_t most)
{
    if (step->kind == RGMI_STEP_BYTE_LEVEL)
        return decode_byte_level(out, in);
    if (step->kind == RGMI_STEP_FALLBACK)
        return decode_fallback(out, in);
    for (int64_t i = 0; i < in->count; i++) {
        rgm_str piece = piece_at(in, i);

        if (step->kind == RGMI_STEP_REPLACE)
            RGM_TRY(check_most(out->text.size + size_replaced(piece, step->from, step->to), most,
                               "decoder"));
        RGM_TRY(decode_piece(out, step, piece, i == 0));
    }
    return step->kind == RGMI_STEP_FUSE ? end_piece(out) : RGM_OK;
}

static rgm_status list_pieces(pieces *out, const rgmi_bpe *bpe, const int32_t *ids, int64_t count)
{
    bool joined = bpe->decoder_count > 0; /* without a decoder there are spaces between them */

    for (int64_t i = 0; i < count; i++) {
        const rgmi_bpe_token *t = &bpe->tokens[ids[i]];

        if (t->special || t->size == 0)
            continue;
        if (!joined && out->count > 0)
            RGM_TRY(rgm_text_add(&out->text, " ", 1));
        RGM_TRY(rgm_text_add(&out->text, bpe->bytes + t->at, t->size));
        RGM_TRY(end_piece(out));
    }
    return RGM_OK;
}

rgm_status rgmi_bpe_decode(rgm_text *text, const rgmi_bpe *bpe, const int32_t *ids, int64_t count)
{
    rgm_status status = RGM_OK;
    pieces now = {0}, next = {0};
    int64_t most;

    RGM_GO(list_pieces(&now, bpe, ids, count));
    most = most_of(now.text.size);
    for (int64_t i = 0; i < bpe->decoder_count; i++) {
        RGM_GO(decode_by(&next, &bpe->decoder[i], &now, most));
        pieces_clear(&now);
        now = next;
        next = (pieces){0};
    }
    RGM_GO(rgm_text_add(text, now.text.size > 0 ? now.text.data : "", now.text.size));
done:
    pieces_clear(&now);
    pieces_clear(&next);
    return status;
}
