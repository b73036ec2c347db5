/*
 * Is this SentencePiece model safe to hand to the library? It follows the model's tables without
 * looking at their bounds, and some of its arrays have a fixed size, so a model from a stranger
 * could make it read anywhere. Here every piece and the whole trie of the normalizer are checked.
 */
#include "tokenizer_internal.h"

#include <math.h>
#include <string.h>

enum {
    LONGEST_PIECE = 4096,
    LONGEST_REPLACEMENT = 1024,
    LARGEST_CHARSMAP = 8 << 20,
    /** What the library has room for: rules, or user-defined pieces, that begin one another. */
    NESTED_RULES = 32,
    NESTED_PIECES = 64,
    LONGEST_RULE = 128
};

/* ---- protobuf -------------------------------------------------------------------------------- */

/** A message on its way through, and the field it stands at. */
typedef struct message {
    const uint8_t *at, *end;
    const char *name; /* of the model, for messages */
    int64_t number;   /* of the field               */
    int wire;
    uint64_t value; /* a number's bits             */
    const uint8_t *bytes;
    int64_t size;
} message;

static rgm_status damaged(const message *m, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: not a sound SentencePiece model: %s", m->name, what);
}

static rgm_status read_varint(uint64_t *out, message *m)
{
    *out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (m->at == m->end)
            return damaged(m, "it is cut short");
        *out |= (uint64_t)(*m->at & 0x7f) << shift;
        if (*m->at++ < 0x80)
            return RGM_OK;
    }
    return damaged(m, "a number of more than 10 bytes");
}

static rgm_status read_fixed(message *m, int64_t size)
{
    if (m->end - m->at < size)
        return damaged(m, "it is cut short");
    m->value = 0;
    memcpy(&m->value, m->at, (size_t)size);
    m->at += size;
    return RGM_OK;
}

/** The next field; RGM_END behind the last. */
static rgm_status next_field(message *m)
{
    uint64_t tag, size;

    if (m->at == m->end)
        return RGM_END;
    RGM_TRY(read_varint(&tag, m));
    m->number = (int64_t)(tag >> 3);
    m->wire = (int)(tag & 7);
    switch (m->wire) {
    case 0:
        return read_varint(&m->value, m);
    case 1:
        return read_fixed(m, 8);
    case 5:
        return read_fixed(m, 4);
    case 2:
        RGM_TRY(read_varint(&size, m));
        if (size > (uint64_t)(m->end - m->at))
            return damaged(m, "it is cut short");
        m->bytes = m->at;
        m->size = (int64_t)size;
        m->at += size;
        return RGM_OK;
    default:
        return damaged(m, "a field of an unknown kind");
    }
}

static message inner(const message *m)
{
    return (message){.at = m->bytes, .end = m->bytes + m->size, .name = m->name};
}

/* ---- the normalizer's trie --------------------------------------------------------------------
 *
 * A double array (darts-clone): a unit holds a label, whether a rule ends there, and an offset. The
 * children of the unit at p lie at (p ^ offset) ^ byte and have that byte as their label; the place
 * of a rule's replacement stands in unit p ^ offset.
 */

typedef struct trie {
    const message *model; /* for messages */
    const uint8_t *units;
    int64_t count;
    const uint8_t *text; /* the replacements, each ended by a zero */
    int64_t text_size;
    uint8_t *rules; /* [count] 0 not seen, PENDING, else 1 + most rules on a way down from there */
} trie;

enum { PENDING = 255 };

static uint32_t unit_at(const trie *t, int64_t i)
{
    uint32_t unit;

    memcpy(&unit, t->units + 4 * i, 4);
    return unit;
}

static int64_t base_of(int64_t place, uint32_t unit)
{
    return place ^ (int64_t)((unit >> 10) << ((unit & (1u << 9)) >> 6));
}

static bool is_child(uint32_t unit, unsigned byte)
{
    return (unit & ((1u << 31) | 0xff)) == byte;
}

static bool has_rule(uint32_t unit)
{
    return unit >> 8 & 1;
}

static rgm_status check_replacement(const trie *t, int64_t base)
{
    int64_t at = unit_at(t, base) & ~(1u << 31);
    const uint8_t *end;

    if (at >= t->text_size)
        return damaged(t->model, "a rule of its normalizer points nowhere");
    end = memchr(t->text + at, 0, (size_t)(t->text_size - at));
    if (end == NULL || end - (t->text + at) > LONGEST_REPLACEMENT)
        return damaged(t->model, "a replacement of its normalizer has no end");
    if (rgm_utf8_check(t->text + at, end - (t->text + at)) >= 0)
        return damaged(t->model, "a replacement of its normalizer is not UTF-8");
    return RGM_OK;
}

/** A unit on the way down from the root, and where the search for its children is. */
typedef struct step {
    int64_t place, base;
    unsigned byte; /* the next to try */
    uint8_t rules; /* most on a way down from here, its own not among them */
} step;

static rgm_status enter(step *s, trie *t, int64_t place)
{
    uint32_t unit = unit_at(t, place);

    *s = (step){.place = place, .base = base_of(place, unit)};
    if ((s->base | 255) >= t->count)
        return damaged(t->model, "its normalizer's trie points outside itself");
    if (place != 0 && has_rule(unit))
        RGM_TRY(check_replacement(t, s->base));
    t->rules[place] = PENDING;
    return RGM_OK;
}

/** Depth first over everything a text could reach: in bounds, no circle, not too many rules nested.
 */
static rgm_status walk(trie *t)
{
    step way[LONGEST_RULE + 1];
    int depth = 0;

    RGM_TRY(enter(&way[0], t, 0));
    for (;;) {
        step *s = &way[depth];

        if (s->byte < 256) {
            unsigned byte = s->byte++;
            int64_t child = s->base ^ (int64_t)byte;

            if (!is_child(unit_at(t, child), byte))
                continue;
            if (t->rules[child] == PENDING)
                return damaged(t->model, "its normalizer's trie runs in a circle");
            if (t->rules[child] != 0) {
                if (t->rules[child] - 1 > s->rules)
                    s->rules = t->rules[child] - 1;
                continue;
            }
            if (depth == LONGEST_RULE)
                return damaged(t->model, "its normalizer has a rule for too long a text");
            RGM_TRY(enter(&way[++depth], t, child));
            continue;
        }
        if (s->place != 0 && has_rule(unit_at(t, s->place)))
            s->rules++;
        if (s->rules > NESTED_RULES)
            return damaged(t->model, "its normalizer has too many rules that begin one another");
        t->rules[s->place] = 1 + s->rules;
        if (depth == 0)
            return RGM_OK;
        if (s->rules > way[depth - 1].rules)
            way[depth - 1].rules = s->rules;
        depth--;
    }
}

/** precompiled_charsmap: size of the trie (u32), its units, the replacements. */
static rgm_status check_charsmap(const message *m)
{
    trie t = {.model = m};
    uint32_t trie_size;
    rgm_status status;

    if (m->size == 0)
        return RGM_OK;
    if (m->size > LARGEST_CHARSMAP)
        return damaged(m, "its normalizer's table is too large");
    if (m->size <= 4)
        return damaged(m, "its normalizer's table is cut short");
    memcpy(&trie_size, m->bytes, 4);
    if (trie_size % 4 != 0 || trie_size < 4 || trie_size >= m->size - 4)
        return damaged(m, "its normalizer's table is cut short");
    t.units = m->bytes + 4;
    t.count = trie_size / 4;
    t.text = t.units + trie_size;
    t.text_size = m->size - 4 - trie_size;
    if (t.text[t.text_size - 1] != 0)
        return damaged(m, "a replacement of its normalizer has no end");
    RGM_TRY(RGM_NEW(t.rules, t.count));
    status = walk(&t);
    rgm_free(t.rules);
    return status;
}

static rgm_status check_normalizer(message m)
{
    rgm_status status;

    while ((status = next_field(&m)) == RGM_OK)
        if (m.number == 2 && m.wire == 2)
            RGM_TRY(check_charsmap(&m));
    return status == RGM_END ? RGM_OK : status;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

typedef struct user_pieces {
    int64_t count, longest;
} user_pieces;

static rgm_status check_piece(user_pieces *users, message m)
{
    enum { USER_DEFINED = 4 };
    rgm_status status;
    int64_t size = 0;
    uint64_t type = 1;

    while ((status = next_field(&m)) == RGM_OK) {
        if (m.number == 1 && m.wire == 2) {
            size = m.size;
            if (size > LONGEST_PIECE || memchr(m.bytes, 0, (size_t)size) != NULL ||
                rgm_utf8_check(m.bytes, size) >= 0)
                return damaged(&m, "a piece is not a short text in UTF-8");
        } else if (m.number == 2 && m.wire == 5) {
            uint32_t bits = (uint32_t)m.value;
            float score;
            memcpy(&score, &bits, 4);
            if (!isfinite(score))
                return damaged(&m, "a piece's score is not a number");
        } else if (m.number == 3 && m.wire == 0) {
            type = m.value;
        }
    }
    if (size == 0)
        return damaged(&m, "a piece without text");
    if (type == USER_DEFINED) {
        users->count++;
        users->longest = size > users->longest ? size : users->longest;
    }
    return status == RGM_END ? RGM_OK : status;
}

rgm_status rgmi_tokenizer_check(const void *model, int64_t size, const char *name)
{
    message m = {.at = model, .end = (const uint8_t *)model + size, .name = name};
    user_pieces users = {0};
    int64_t pieces = 0;
    rgm_status status;

    while ((status = next_field(&m)) == RGM_OK) {
        if (m.wire != 2)
            continue;
        pieces += m.number == 1;
        if (m.number == 1)
            RGM_TRY(check_piece(&users, inner(&m)));
        else if (m.number == 3 || m.number == 5)
            RGM_TRY(check_normalizer(inner(&m)));
    }
    if (status != RGM_END)
        return status;
    if (pieces == 0)
        return damaged(&m, "it has no pieces");
    if (users.count > NESTED_PIECES && users.longest > NESTED_PIECES)
        return damaged(&m, "too many and too long user-defined pieces");
    return RGM_OK;
}
