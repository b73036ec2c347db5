/*
 * Is this line safe to train a tokenizer on? SentencePiece's trainer ends the process when nothing
 * is left of the text, when a word has more characters than its tables can number, and when all of
 * it has. Normalization (nmt_nfkc) comes between, so what it drops is known here and what it makes
 * longer is bounded.
 */
#include "tokenizer_internal.h"

enum { LONGEST_WORD = 32000 }; /* characters; its positions are 16 bits with a sign */

/** What a code point becomes: nothing or a space. */
static bool is_blank(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0x01, 0x20},     {0x7f, 0x7f},     {0x8f, 0x8f},     {0x9f, 0xa0},     {0x1680, 0x1680},
        {0x2000, 0x200c}, {0x200e, 0x200f}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
        {0x2581, 0x2581}, {0x3000, 0x3000}, {0xfeff, 0xfeff}, {0xfffd, 0xfffd},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

static bool is_space(uint32_t code)
{
    return code == ' ' || code == '\t' || code == 0xa0 || code == 0x3000;
}

/** The most characters that a code point becomes. */
static int64_t longest_form(uint32_t code)
{
    if (code < 0x80 || (code >= 0x3041 && code < 0x309f) || (code >= 0x30a1 && code < 0x30ff) ||
        (code >= 0x3400 && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4))
        return 1;
    if (code < 0x1680)
        return 3; /* 1/4 in one character; letters with several marks */
    return code >= 0xf900 && code < 0xfe00 ? 18 : 6; /* U+FDFA is a sentence */
}

rgm_status rgmi_training_line_check(rgmi_training_line *out, rgm_str line, const char *path,
                                    int64_t number)
{
    int64_t word = 1; /* the mark before it */

    *out = (rgmi_training_line){.blank = true};
    for (int64_t at = 0; at < line.size;) {
        uint32_t code;
        int size = rgm_utf8_next(&code, line.data + at);

        if (size == 0)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s:%lld:%lld: not UTF-8", path, (long long)number,
                            (long long)at + 1);
        at += size;
        out->blank = out->blank && is_blank(code);
        out->characters += longest_form(code);
        word = is_space(code) ? 1 : word + longest_form(code);
        if (word > LONGEST_WORD)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s:%lld:%lld: a word of more than %d characters (counted as long as "
                            "they may become in normalization); no tokenizer can be trained on it",
                            path, (long long)number, (long long)at, LONGEST_WORD);
    }
    return RGM_OK;
}
