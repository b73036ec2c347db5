/*
 * Tokenizers of machine translation's scores. 13a is what NIST's mteval-v13a.pl does to European
 * languages, intl what mteval-v14.pl does with --international-tokenization. Both are defined as
 * rules of replacement that run over the line one after another, and a rule does not look again at
 * what it has consumed; so a tokenizer here is a list of passes, each from one text to the next.
 */
#include "mt_internal.h"

#include <string.h>
#include <unictype.h>

/** Rewrites [p, end) at `to`, at most 3 times as long + 2; returns where it ended. */
typedef char *pass(char *to, const char *p, const char *end);

typedef struct tokenizer_type {
    pass *const *passes; /* ended by NULL */
    bool characters;     /* every character is a word */
} tokenizer_type;

static bool starts_with(const char *p, const char *end, const char *text)
{
    size_t size = strlen(text);

    return (size_t)(end - p) >= size && memcmp(p, text, size) == 0;
}

static char *spaced(char *to, char c)
{
    *to++ = ' ';
    *to++ = c;
    *to++ = ' ';
    return to;
}

/* ---- 13a ------------------------------------------------------------------------------------- */

static char *drop_skipped(char *to, const char *p, const char *end)
{
    while (p < end) {
        if (*p == '<' && starts_with(p, end, "<skipped>"))
            p += strlen("<skipped>");
        else
            *to++ = *p++;
    }
    return to;
}

static char *join_lines(char *to, const char *p, const char *end)
{
    for (; p < end; p++) {
        if (*p == '-' && p + 1 < end && p[1] == '\n')
            p++;
        else
            *to++ = *p == '\n' ? ' ' : *p;
    }
    return to;
}

/* Entities are replaced kind by kind: quot, amp, lt, gt. So "&amp;lt;" ends as '<', but
   "&amp;quot;" as "&quot;" and "&amp;amp;" as "&amp;". */
static char *replace_entities(char *to, const char *p, const char *end)
{
    while (p < end) {
        const char *rest = p + 1;

        if (*p != '&') {
            *to++ = *p++;
            continue;
        }
        if (starts_with(rest, end, "quot;")) {
            *to++ = '"';
            p = rest + 5;
            continue;
        }
        if (starts_with(rest, end, "amp;"))
            rest += 4;
        if (starts_with(rest, end, "lt;") || starts_with(rest, end, "gt;")) {
            *to++ = *rest == 'l' ? '<' : '>';
            rest += 3;
        } else {
            *to++ = '&';
        }
        p = rest;
    }
    return to;
}

/* So that every rule has a character on both sides. */
static char *pad(char *to, const char *p, const char *end)
{
    *to++ = ' ';
    memcpy(to, p, (size_t)(end - p));
    to += end - p;
    *to++ = ' ';
    return to;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_point(char c)
{
    return c == '.' || c == ',';
}

/* All of ASCII's punctuation and symbols but ' , - and the point. */
static bool is_symbol(char c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

static char *split_symbols(char *to, const char *p, const char *end)
{
    for (; p < end; p++) {
        if (is_symbol(*p))
            to = spaced(to, *p);
        else
            *to++ = *p;
    }
    return to;
}

/* The next three look at two characters and consume both. By bytes, since what they look for is
 * ASCII. */
static char *split_point_after_no_digit(char *to, const char *p, const char *end)
{
    for (; p < end; p++) {
        *to++ = *p;
        if (!is_digit(*p) && p + 1 < end && is_point(p[1]))
            to = spaced(to, *++p);
    }
    return to;
}

static char *split_point_before_no_digit(char *to, const char *p, const char *end)
{
    for (; p < end; p++) {
        if (is_point(*p) && p + 1 < end && !is_digit(p[1])) {
            to = spaced(to, *p++);
            *to++ = *p;
        } else {
            *to++ = *p;
        }
    }
    return to;
}

static char *split_dash_after_digit(char *to, const char *p, const char *end)
{
    for (; p < end; p++) {
        *to++ = *p;
        if (is_digit(*p) && p + 1 < end && p[1] == '-')
            to = spaced(to, *++p);
    }
    return to;
}

/* ---- intl ------------------------------------------------------------------------------------ */

static bool is_in(uint32_t c, uint32_t categories)
{
    return uc_is_general_category_withtable(c, categories);
}

static char *copied(char *to, const char *p, int bytes)
{
    memcpy(to, p, (size_t)bytes);
    return to + bytes;
}

static char *spaced_character(char *to, const char *p, int bytes)
{
    *to++ = ' ';
    to = copied(to, p, bytes);
    *to++ = ' ';
    return to;
}

/* Two characters in a row, the punctuation first or second, of which the other is no digit. */
static char *split_punctuation(char *to, const char *p, const char *end, bool punctuation_first)
{
    uint32_t first, second;

    while (p < end) {
        int bytes = rgmi_next_character(&first, p, end);
        int next = p + bytes < end ? rgmi_next_character(&second, p + bytes, end) : 0;
        uint32_t mark = punctuation_first ? first : second;
        uint32_t other = punctuation_first ? second : first;

        if (next > 0 && is_in(mark, UC_CATEGORY_MASK_P) && !is_in(other, UC_CATEGORY_MASK_N)) {
            to = punctuation_first ? spaced_character(to, p, bytes) : copied(to, p, bytes);
            to = punctuation_first ? copied(to, p + bytes, next)
                                   : spaced_character(to, p + bytes, next);
            bytes += next;
        } else {
            to = copied(to, p, bytes);
        }
        p += bytes;
    }
    return to;
}

static char *split_after_no_digit(char *to, const char *p, const char *end)
{
    return split_punctuation(to, p, end, false);
}

static char *split_before_no_digit(char *to, const char *p, const char *end)
{
    return split_punctuation(to, p, end, true);
}

static char *split_unicode_symbols(char *to, const char *p, const char *end)
{
    while (p < end) {
        uint32_t c;
        int bytes = rgmi_next_character(&c, p, end);

        to = is_in(c, UC_CATEGORY_MASK_S) ? spaced_character(to, p, bytes) : copied(to, p, bytes);
        p += bytes;
    }
    return to;
}

/* ---- the list -------------------------------------------------------------------------------- */

static pass *const no_passes[] = {NULL};
static pass *const passes_13a[] = {drop_skipped,
                                   join_lines,
                                   replace_entities,
                                   pad,
                                   split_symbols,
                                   split_point_after_no_digit,
                                   split_point_before_no_digit,
                                   split_dash_after_digit,
                                   NULL};
static pass *const passes_intl[] = {split_after_no_digit, split_before_no_digit,
                                    split_unicode_symbols, NULL};

const char *const rgm_mt_tokenizer_names[] = {"13a", "intl", "char", "none", NULL};
const char *const rgm_mt_metric_names[] = {"bleu", "chrf", "ter", NULL};
static const tokenizer_type tokenizers[] = {
    [RGM_MT_TOKENIZER_13A] = {passes_13a, false},
    [RGM_MT_TOKENIZER_INTL] = {passes_intl, false},
    [RGM_MT_TOKENIZER_CHAR] = {no_passes, true},
    [RGM_MT_TOKENIZER_NONE] = {no_passes, false},
};

static rgm_status run_pass(rgmi_words *words, pass *rewrite)
{
    rgm_text text = words->text;

    RGM_TRY(RGM_RESERVE(words->spare.data, words->spare.capacity, 3 * text.size + 2));
    words->spare.size =
        rewrite(words->spare.data, text.data, text.data + text.size) - words->spare.data;
    words->text = words->spare;
    words->spare = text;
    return RGM_OK;
}

/* White space at the end goes first: intl tells a mark at the very end from one before a space. */
static int64_t stripped_size(rgm_str line)
{
    const char *end = line.data + line.size;

    while (end > line.data) {
        const char *p = end - 1;
        uint32_t c;

        while (p > line.data && ((uint8_t)*p & 0xc0) == 0x80)
            p--;
        rgmi_next_character(&c, p, end);
        if (!rgmi_is_white(c))
            break;
        end = p;
    }
    return end - line.data;
}

/* Divide words->text at white space, or into characters. */
static rgm_status split(rgmi_words *words, bool characters)
{
    const char *p = words->text.data, *end = p + words->text.size;
    bool inside = false;

    words->count = 0;
    while (p < end) {
        uint32_t c;
        int bytes = rgmi_next_character(&c, p, end);

        if (rgmi_is_white(c)) {
            inside = false;
        } else if (inside && !characters) {
            words->items[words->count - 1].size += bytes;
        } else {
            RGM_TRY(RGM_RESERVE(words->items, words->capacity, words->count + 1));
            words->items[words->count++] = (rgm_str){p, bytes};
            inside = true;
        }
        p += bytes;
    }
    return RGM_OK;
}

rgm_status rgmi_words_read(rgmi_words *words, rgm_mt_tokenizer tokenizer, bool lowercase,
                           rgm_str line)
{
    const tokenizer_type *type = &tokenizers[tokenizer];

    if (line.size == 0)
        line.data = "";
    if (lowercase) {
        RGM_TRY(rgmi_lower(&words->lowered, line));
        line = (rgm_str){words->lowered.data, words->lowered.size};
    }
    words->text.size = 0;
    RGM_TRY(rgm_text_add(&words->text, line.data, stripped_size(line)));
    for (pass *const *p = type->passes; *p != NULL; p++)
        RGM_TRY(run_pass(words, *p));
    return split(words, type->characters);
}

void rgmi_words_clear(rgmi_words *words)
{
    rgm_free(words->items);
    rgm_text_clear(&words->lowered);
    rgm_text_clear(&words->text);
    rgm_text_clear(&words->spare);
    *words = (rgmi_words){0};
}

rgm_status rgm_mt_tokenize(rgm_text *out, rgm_mt_tokenizer tokenizer, rgm_str line)
{
    rgm_status status = RGM_OK;
    rgmi_words words = {0};
    int64_t bad = rgm_utf8_check(line.data, line.size);

    if (bad >= 0)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "byte %lld (0x%02x) is not UTF-8", (long long)bad + 1,
                        (uint8_t)line.data[bad]));
    RGM_GO(rgmi_words_read(&words, tokenizer, false, line));
    for (int64_t i = 0; i < words.count; i++) {
        if (i > 0)
            RGM_GO(rgm_text_add(out, " ", 1));
        RGM_GO(rgm_text_add(out, words.items[i].data, words.items[i].size));
    }
done:
    rgmi_words_clear(&words);
    return status;
}
