/*
 * Words of a text, as the regular expressions of GPT-2, Llama 3 and Qwen 2 cut them. Those are
 * three fixed expressions, so that they are written out: what a character is, libunistring says.
 *
 *   GPT-2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *   Llama 3  (?i:'s|..)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
 *            \s+(?!\S)|\s+
 *   Qwen 2   the same with \p{N}
 */
#include "bpe_internal.h"

#include <string.h>
#include <unictype.h>

typedef enum kind { LETTER, NUMBER, SPACE, OTHER, NOTHING } kind;

bool rgmi_is_white_space(uint32_t code)
{
    return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xa0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
           code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

int rgmi_code_at(uint32_t *code, const char *text, int64_t at, int64_t size)
{
    int bytes;

    if (at >= size) {
        *code = 0;
        return 0;
    }
    if ((text[at] & 0x80) == 0) {
        *code = (uint8_t)text[at];
        return 1;
    }
    bytes = rgm_utf8_next(code, text + at);
    return bytes > 0 ? bytes : 1;
}

static kind kind_of(uint32_t code)
{
    if (code < 0x80) {
        if ((code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z'))
            return LETTER;
        if (code >= '0' && code <= '9')
            return NUMBER;
        return rgmi_is_white_space(code) ? SPACE : OTHER;
    }
    if (rgmi_is_white_space(code))
        return SPACE;
    if (uc_is_general_category_withtable(code, UC_CATEGORY_MASK_L))
        return LETTER;
    return uc_is_general_category_withtable(code, UC_CATEGORY_MASK_N) ? NUMBER : OTHER;
}

static kind kind_at(const char *text, int64_t at, int64_t size)
{
    uint32_t code;

    return rgmi_code_at(&code, text, at, size) > 0 ? kind_of(code) : NOTHING;
}

static bool is_line_end(char c)
{
    return c == '\r' || c == '\n';
}

/* Behind the characters of a kind from `at` on, at most `most` of them. */
static int64_t behind(kind wanted, const char *text, int64_t at, int64_t size, int64_t most)
{
    uint32_t code;

    for (int64_t i = 0; i < most && at < size; i++) {
        int bytes = rgmi_code_at(&code, text, at, size);

        if (kind_of(code) != wanted)
            break;
        at += bytes;
    }
    return at;
}

/* 's 't 're 've 'm 'll 'd; any_case: U+017F is an s, too. */
static int64_t contraction(const char *text, int64_t size, bool any_case)
{
    static const char *const ends[] = {"s", "t", "re", "ve", "m", "ll", "d"};

    if (size < 2 || text[0] != '\'')
        return 0;
    if (any_case && size >= 3 && memcmp(text + 1, "\xc5\xbf", 2) == 0)
        return 3;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int64_t length = (int64_t)strlen(ends[i]), same = 0;

        while (same < length && same + 1 < size &&
               (any_case && text[same + 1] >= 'A' && text[same + 1] <= 'Z'
                    ? text[same + 1] | 0x20
                    : text[same + 1]) == ends[i][same])
            same++;
        if (same == length)
            return 1 + length;
    }
    return 0;
}

/* \s+(?!\S)|\s+: all white space but the last character of it, where text follows. */
static int64_t white_space(const char *text, int64_t size)
{
    int64_t end = 0, last = 0;
    uint32_t code;

    while (end < size) {
        int bytes = rgmi_code_at(&code, text, end, size);

        if (!rgmi_is_white_space(code))
            break;
        last = end;
        end += bytes;
    }
    return end < size && last > 0 ? last : end;
}

static int64_t word_gpt2(const char *text, int64_t size)
{
    int64_t from = text[0] == ' ' ? 1 : 0, end = contraction(text, size, false);
    kind first;

    if (end > 0)
        return end;
    first = kind_at(text, from, size);
    if (first == LETTER || first == NUMBER || first == OTHER)
        return behind(first, text, from, size, size);
    return white_space(text, size);
}

/* [^\r\n\p{L}\p{N}]?\p{L}+ */
static int64_t letters_after_one(const char *text, int64_t size)
{
    uint32_t code;
    int bytes = rgmi_code_at(&code, text, 0, size);
    kind first = kind_of(code);

    if (first == LETTER)
        return behind(LETTER, text, 0, size, size);
    if (first != NUMBER && !is_line_end(text[0]) && kind_at(text, bytes, size) == LETTER)
        return behind(LETTER, text, bytes, size, size);
    return 0;
}

/* \s*[\r\n]+: up to the last line end of the white space. */
static int64_t lines(const char *text, int64_t size)
{
    int64_t end = behind(SPACE, text, 0, size, size);

    while (end > 0 && !is_line_end(text[end - 1]))
        end--;
    return end;
}

static int64_t word_llama3(const char *text, int64_t size, int64_t digits)
{
    int64_t from = text[0] == ' ' ? 1 : 0, end = contraction(text, size, true);

    if (end > 0)
        return end;
    end = letters_after_one(text, size);
    if (end > 0)
        return end;
    end = behind(NUMBER, text, 0, size, digits);
    if (end > 0)
        return end;
    if (kind_at(text, from, size) == OTHER) {
        end = behind(OTHER, text, from, size, size);
        while (end < size && is_line_end(text[end]))
            end++;
        return end;
    }
    end = lines(text, size);
    return end > 0 ? end : white_space(text, size);
}

/* Up to the next U+2581. */
static int64_t word_marked(const char *text, int64_t size)
{
    for (int64_t i = 1; i + 3 <= size; i++)
        if (memcmp(text + i, "\xe2\x96\x81", 3) == 0)
            return i;
    return size;
}

int64_t rgmi_bpe_word(rgmi_bpe_words words, const char *text, int64_t size)
{
    switch (words) {
    case RGMI_WORDS_GPT2:
        return word_gpt2(text, size);
    case RGMI_WORDS_LLAMA3:
        return word_llama3(text, size, 3);
    case RGMI_WORDS_QWEN2:
        return word_llama3(text, size, 1);
    case RGMI_WORDS_MARKED:
        return word_marked(text, size);
    case RGMI_WORDS_WHOLE:
    default:
        return size;
    }
}
