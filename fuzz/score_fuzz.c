/*
 * Any bytes as translations: the first line is the hypothesis, those behind it are references. Bad
 * UTF-8 is always refused; what is accepted has scores in their range, and a line against itself is
 * perfect.
 */
#include <regimen/text.h>

#include <string.h>

#include "target.h"

enum { MOST_REFERENCES = 3 };

static void must(bool condition)
{
    if (!condition)
        __builtin_trap();
}

/* Words are of one space between two and of no white space inside: so they divide to themselves. */
static void check_tokenizer(rgm_mt_tokenizer tokenizer, rgm_str line, bool valid)
{
    rgm_text once = {0}, again = {0};
    rgm_status status = rgm_mt_tokenize(&once, tokenizer, line);

    must(status == (valid ? RGM_OK : RGM_ERR_FORMAT));
    if (valid) {
        must(rgm_utf8_check(once.data, once.size) < 0);
        must(rgm_mt_tokenize(&again, RGM_MT_TOKENIZER_NONE, (rgm_str){once.data, once.size}) ==
             RGM_OK);
        must(once.size == again.size &&
             (once.size == 0 || memcmp(once.data, again.data, (size_t)once.size) == 0));
    }
    rgm_text_clear(&once);
    rgm_text_clear(&again);
}

static void check_bleu(int variant, rgm_str line, const rgm_str *references, int64_t count,
                       bool valid)
{
    rgm_bleu_options options = {.tokenizer = (rgm_mt_tokenizer)(variant % 4),
                                .lowercase = variant % 2,
                                .smoothing = (rgm_bleu_smoothing)(variant % 4),
                                .effective_order = true};
    rgm_bleu_stats stats = {0}, same = {0};
    rgm_bleu *bleu;
    double score;

    must(rgm_bleu_create(&bleu, &options) == RGM_OK);
    must(rgm_bleu_add(&stats, bleu, line, references, count) == (valid ? RGM_OK : RGM_ERR_FORMAT));
    score = rgm_bleu_result(&stats, &options).score;
    must(score >= 0 && score < 100.0001);
    if (rgm_bleu_add(&same, bleu, line, &line, 1) == RGM_OK)
        for (int n = 0; n < RGM_BLEU_ORDER; n++)
            must(same.matches[n] == same.totals[n]);
    rgm_bleu_release(bleu);
}

static void check_chrf(rgm_str line, const rgm_str *references, int64_t count, bool valid)
{
    rgm_chrf_options options = {.char_order = 6, .word_order = 2, .beta = 2, .lowercase = true};
    rgm_chrf_stats stats = {0}, same = {0};
    rgm_chrf *chrf;
    double score;

    must(rgm_chrf_create(&chrf, &options) == RGM_OK);
    must(rgm_chrf_add(&stats, chrf, line, references, count) == (valid ? RGM_OK : RGM_ERR_FORMAT));
    score = rgm_chrf_result(&stats, &options);
    must(score >= 0 && score < 100.0001);
    if (rgm_chrf_add(&same, chrf, line, &line, 1) == RGM_OK)
        for (int k = 0; k < options.char_order + options.word_order; k++)
            must(same.matches[k] == same.hypotheses[k]);
    rgm_chrf_release(chrf);
}

static void check_ter(rgm_str line, const rgm_str *references, int64_t count, bool valid)
{
    rgm_ter_stats stats = {0}, same = {0};
    rgm_ter *ter;

    must(rgm_ter_create(&ter, NULL) == RGM_OK);
    must(rgm_ter_add(&stats, ter, line, references, count) == (valid ? RGM_OK : RGM_ERR_FORMAT));
    must(rgm_ter_result(&stats) >= 0);
    if (rgm_ter_add(&same, ter, line, &line, 1) == RGM_OK)
        must(same.edits == 0);
    rgm_ter_release(ter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_str lines[1 + MOST_REFERENCES];
    int64_t count = 0;
    const char *p = (const char *)data, *end = p + size;
    bool valid = true;

    while (count <= MOST_REFERENCES && p <= end) {
        const char *stop = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;

        stop = stop != NULL ? stop : end;
        lines[count++] = (rgm_str){p, stop - p};
        p = stop + 1;
    }
    if (count == 1)
        lines[count++] = (rgm_str){NULL, 0};
    for (int64_t i = 0; i < count; i++)
        valid = valid && rgm_utf8_check(lines[i].data, lines[i].size) < 0;
    for (int t = 0; t < 4; t++) {
        check_tokenizer((rgm_mt_tokenizer)t, lines[0],
                        rgm_utf8_check(lines[0].data, lines[0].size) < 0);
        check_bleu(t, lines[0], lines + 1, count - 1, valid);
    }
    check_chrf(lines[0], lines + 1, count - 1, valid);
    check_ter(lines[0], lines + 1, count - 1, valid);
    return 0;
}
