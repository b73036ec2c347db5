/* regimen score: BLEU, chrF and TER of translations, line by line against one or several
 * references. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/text.h>

enum { MOST_REFERENCES = 64, LONGEST_LINE = 1 << 28 };

/* What is to be computed, from the command line. */
typedef struct wanted {
    bool metrics[RGM_MT_METRICS];
    rgm_bleu_options bleu, sentence_bleu;
    rgm_chrf_options chrf;
    rgm_ter_options ter;
    bool sentence, json;
    const char *hypothesis;
    text_list references;
} wanted;

typedef struct sums {
    rgm_bleu_stats bleu;
    rgm_chrf_stats chrf;
    rgm_ter_stats ter;
} sums;

/* The hypothesis' file first, then the references'. */
typedef struct scoring {
    const wanted *want;
    rgm_line_reader *files[1 + MOST_REFERENCES];
    rgm_str lines[1 + MOST_REFERENCES];
    int64_t file_count;
    rgm_bleu *bleu;
    rgm_chrf *chrf;
    rgm_ter *ter;
    sums corpus;
    int64_t line_count;
    json_t *sentences;
} scoring;

static const char *file_name(const wanted *want, int64_t file)
{
    return file == 0 ? want->hypothesis : want->references.items[file - 1];
}

static rgm_status open_all(scoring *s)
{
    const rgm_line_options options = {.max_line_bytes = LONGEST_LINE};

    s->file_count = 1 + s->want->references.count;
    for (int64_t i = 0; i < s->file_count; i++)
        RGM_TRY(rgm_line_reader_open(&s->files[i], file_name(s->want, i), &options));
    RGM_TRY(rgm_bleu_create(&s->bleu, &s->want->bleu));
    RGM_TRY(rgm_chrf_create(&s->chrf, &s->want->chrf));
    return rgm_ter_create(&s->ter, &s->want->ter);
}

static void close_all(scoring *s)
{
    for (int64_t i = 0; i < s->file_count; i++)
        rgm_line_reader_close(s->files[i]);
    rgm_bleu_release(s->bleu);
    rgm_chrf_release(s->chrf);
    rgm_ter_release(s->ter);
    json_decref(s->sentences);
}

/* ---- scores as text and JSON ----------------------------------------------------------------- */

static const char *chrf_name(const rgm_chrf_options *options)
{
    static char name[48];

    snprintf(name, sizeof name, "chrF%g%.*s", options->beta, options->word_order,
             "++++++++++++++++");
    return name;
}

static void print_sentence(const scoring *s, const sums *one)
{
    const wanted *want = s->want;

    printf("%lld", (long long)s->line_count);
    if (want->metrics[RGM_MT_BLEU])
        printf("\tBLEU %.2f", rgm_bleu_result(&one->bleu, &want->sentence_bleu).score);
    if (want->metrics[RGM_MT_CHRF])
        printf("\t%s %.2f", chrf_name(&want->chrf), rgm_chrf_result(&one->chrf, &want->chrf));
    if (want->metrics[RGM_MT_TER])
        printf("\tTER %.2f", rgm_ter_result(&one->ter));
    printf("\n");
}

static void put_sentence(scoring *s, const sums *one)
{
    const wanted *want = s->want;
    json_t *object = json_object();

    if (want->metrics[RGM_MT_BLEU])
        json_object_set_new(object, "bleu",
                            json_real(rgm_bleu_result(&one->bleu, &want->sentence_bleu).score));
    if (want->metrics[RGM_MT_CHRF])
        json_object_set_new(object, "chrf", json_real(rgm_chrf_result(&one->chrf, &want->chrf)));
    if (want->metrics[RGM_MT_TER])
        json_object_set_new(object, "ter", json_real(rgm_ter_result(&one->ter)));
    json_array_append_new(s->sentences, object);
}

static rgm_status signatures(char *out[RGM_MT_METRICS], char **sentence_bleu, const scoring *s)
{
    const wanted *want = s->want;

    RGM_TRY(rgm_bleu_signature(&out[RGM_MT_BLEU], &s->corpus.bleu, &want->bleu));
    RGM_TRY(rgm_bleu_signature(sentence_bleu, &s->corpus.bleu, &want->sentence_bleu));
    RGM_TRY(rgm_chrf_signature(&out[RGM_MT_CHRF], &s->corpus.chrf, &want->chrf));
    return rgm_ter_signature(&out[RGM_MT_TER], &s->corpus.ter, &want->ter);
}

static int print_corpus(const scoring *s, char *const signature[RGM_MT_METRICS],
                        const char *sentence_bleu)
{
    const wanted *want = s->want;
    const sums *sum = &s->corpus;
    rgm_bleu_score bleu = rgm_bleu_result(&sum->bleu, &want->bleu);

    if (want->metrics[RGM_MT_BLEU])
        printf("BLEU %.2f (%.1f/%.1f/%.1f/%.1f BP %.3f ratio %.3f hyp %lld ref %lld)   %s\n",
               bleu.score, bleu.precisions[0], bleu.precisions[1], bleu.precisions[2],
               bleu.precisions[3], bleu.brevity_penalty, bleu.ratio,
               (long long)sum->bleu.hypothesis_length, (long long)sum->bleu.reference_length,
               signature[RGM_MT_BLEU]);
    if (want->metrics[RGM_MT_CHRF])
        printf("%s %.2f   %s\n", chrf_name(&want->chrf), rgm_chrf_result(&sum->chrf, &want->chrf),
               signature[RGM_MT_CHRF]);
    if (want->metrics[RGM_MT_TER])
        printf("TER %.2f (%lld edits, %.1f words)   %s\n", rgm_ter_result(&sum->ter),
               (long long)sum->ter.edits, sum->ter.reference_length, signature[RGM_MT_TER]);
    if (want->sentence && want->metrics[RGM_MT_BLEU])
        printf("BLEU of single lines   %s\n", sentence_bleu);
    return print_text("");
}

static json_t *bleu_json(const scoring *s)
{
    rgm_bleu_score bleu = rgm_bleu_result(&s->corpus.bleu, &s->want->bleu);
    json_t *precisions = json_array();

    for (int n = 0; n < RGM_BLEU_ORDER; n++)
        json_array_append_new(precisions, json_real(bleu.precisions[n]));
    return json_pack("{s:f, s:o, s:f, s:f, s:I, s:I}", "score", bleu.score, "precisions",
                     precisions, "brevity_penalty", bleu.brevity_penalty, "ratio", bleu.ratio,
                     "hypothesis_length", (json_int_t)s->corpus.bleu.hypothesis_length,
                     "reference_length", (json_int_t)s->corpus.bleu.reference_length);
}

static int print_corpus_json(const scoring *s, char *const signature[RGM_MT_METRICS],
                             const char *sentence_bleu)
{
    const wanted *want = s->want;
    const sums *sum = &s->corpus;
    json_t *all = json_pack("{s:I}", "lines", (json_int_t)s->line_count);
    json_t *metric[RGM_MT_METRICS];

    metric[RGM_MT_BLEU] = bleu_json(s);
    if (want->sentence)
        json_object_set_new(metric[RGM_MT_BLEU], "sentence_signature", json_string(sentence_bleu));
    metric[RGM_MT_CHRF] = json_pack("{s:f}", "score", rgm_chrf_result(&sum->chrf, &want->chrf));
    metric[RGM_MT_TER] =
        json_pack("{s:f, s:I, s:f}", "score", rgm_ter_result(&sum->ter), "edits",
                  (json_int_t)sum->ter.edits, "reference_length", sum->ter.reference_length);
    for (int m = 0; m < RGM_MT_METRICS; m++) {
        json_object_set_new(metric[m], "signature", json_string(signature[m]));
        if (want->metrics[m])
            json_object_set(all, rgm_mt_metric_names[m], metric[m]);
        json_decref(metric[m]);
    }
    if (want->sentence)
        json_object_set(all, "sentences", s->sentences);
    return print_json(all);
}

/* ---- the lines ------------------------------------------------------------------------------- */

/* One file is at its end: so must be all, else count the rest and say which is short. */
static rgm_status check_ends(scoring *s)
{
    int64_t least = 0, most = 0, counts[1 + MOST_REFERENCES];

    for (int64_t i = 0; i < s->file_count; i++) {
        rgm_status status;

        while ((status = rgm_line_reader_next(&s->lines[i], s->files[i])) == RGM_OK)
            ;
        if (status != RGM_END)
            return status;
        counts[i] = rgm_line_reader_line(s->files[i]);
        least = counts[i] < counts[least] ? i : least;
        most = counts[i] > counts[most] ? i : most;
    }
    if (counts[least] != counts[most])
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s has %lld line%s, but %s has %lld: %s is %lld short; lines are compared "
                        "one by one, so each file needs as many",
                        file_name(s->want, least), (long long)counts[least],
                        counts[least] == 1 ? "" : "s", file_name(s->want, most),
                        (long long)counts[most], file_name(s->want, least),
                        (long long)(counts[most] - counts[least]));
    if (counts[0] == 0)
        return RGM_FAIL(RGM_ERR_DATA, "%s has no lines: there is nothing to score",
                        file_name(s->want, 0));
    return RGM_END;
}

static rgm_status next_lines(scoring *s)
{
    for (int64_t i = 0; i < s->file_count; i++) {
        rgm_status status = rgm_line_reader_next(&s->lines[i], s->files[i]);

        if (status == RGM_END)
            return check_ends(s);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status score_lines(scoring *s)
{
    const wanted *want = s->want;
    sums one = {.bleu = {.counts = {0}}};
    int64_t references = s->file_count - 1;

    if (want->metrics[RGM_MT_BLEU])
        RGM_TRY(rgm_bleu_add(&one.bleu, s->bleu, s->lines[0], s->lines + 1, references));
    if (want->metrics[RGM_MT_CHRF])
        RGM_TRY(rgm_chrf_add(&one.chrf, s->chrf, s->lines[0], s->lines + 1, references));
    if (want->metrics[RGM_MT_TER])
        RGM_TRY(rgm_ter_add(&one.ter, s->ter, s->lines[0], s->lines + 1, references));
    rgm_bleu_merge(&s->corpus.bleu, &one.bleu);
    rgm_chrf_merge(&s->corpus.chrf, &one.chrf);
    rgm_ter_merge(&s->corpus.ter, &one.ter);
    s->line_count++;
    if (want->sentence && want->json)
        put_sentence(s, &one);
    else if (want->sentence)
        print_sentence(s, &one);
    return RGM_OK;
}

static int score(const wanted *want)
{
    scoring s = {.want = want, .sentences = json_array()};
    char *signature[RGM_MT_METRICS] = {NULL}, *sentence_bleu = NULL;
    int code = EXIT_FAILED;
    rgm_status status = open_all(&s);

    while (status == RGM_OK) {
        status = next_lines(&s);
        if (status == RGM_OK)
            status = score_lines(&s);
    }
    if (status == RGM_END)
        status = signatures(signature, &sentence_bleu, &s);
    if (status != RGM_OK)
        code = report(status);
    else if (want->json)
        code = print_corpus_json(&s, signature, sentence_bleu);
    else
        code = print_corpus(&s, signature, sentence_bleu);
    for (int m = 0; m < RGM_MT_METRICS; m++)
        rgm_free(signature[m]);
    rgm_free(sentence_bleu);
    close_all(&s);
    return code;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Which of the names, ended by NULL, the text [size] is; EXIT_USAGE after a message. */
static int choose(int *out, const char *option, const char *text, size_t size,
                  const char *const *names)
{
    char name[64];
    int count = 0;

    for (; names[count] != NULL; count++) {
        if (strlen(names[count]) == size && memcmp(names[count], text, size) == 0) {
            *out = count;
            return EXIT_DONE;
        }
    }
    snprintf(name, sizeof name, "%.*s", (int)(size < 60 ? size : 60), text);
    return usage_error("--%s: no '%s'%s", option, name,
                       rgm_did_you_mean(name, names, count, NULL, "there are ").text);
}

static int choose_metrics(wanted *want, const char *list)
{
    for (const char *p = list;; p++) {
        size_t size = strcspn(p, ",");
        int metric, code = choose(&metric, "metrics", p, size, rgm_mt_metric_names);

        if (code != EXIT_DONE)
            return code;
        want->metrics[metric] = true;
        p += size;
        if (*p == '\0')
            return EXIT_DONE;
    }
}

static int check(wanted *want, const char *metrics, const char *tokenize, const char *smooth,
                 int64_t word_order)
{
    int tokenizer, smoothing;
    int code = choose_metrics(want, metrics);

    if (code == EXIT_DONE)
        code = choose(&tokenizer, "tokenize", tokenize, strlen(tokenize), rgm_mt_tokenizer_names);
    if (code == EXIT_DONE)
        code = choose(&smoothing, "smooth", smooth, strlen(smooth), rgm_bleu_smoothing_names);
    if (code != EXIT_DONE)
        return code;
    if (want->references.count == 0)
        return usage_error("score needs a file to compare with: --ref FILE");
    if (want->references.count > MOST_REFERENCES)
        return usage_error("--ref was given more than %d times", MOST_REFERENCES);
    if (word_order < 0 || word_order > RGM_CHRF_MOST_ORDERS - want->chrf.char_order)
        return usage_error("--word-order is %lld, but must be in [0, %d]", (long long)word_order,
                           RGM_CHRF_MOST_ORDERS - want->chrf.char_order);
    if (isnan(want->bleu.smooth_value))
        want->bleu.smooth_value = 0; /* the default of either */
    else if (!(want->bleu.smooth_value > 0))
        return usage_error("--smooth-value is %g, but must be above 0 (--smooth none adds nothing)",
                           want->bleu.smooth_value);
    else if (smoothing != RGM_SMOOTH_FLOOR && smoothing != RGM_SMOOTH_ADD_K)
        return usage_error("--smooth-value is of --smooth floor and add-k, and this is --smooth %s",
                           smooth);
    want->bleu.tokenizer = (rgm_mt_tokenizer)tokenizer;
    want->bleu.smoothing = (rgm_bleu_smoothing)smoothing;
    want->bleu.lowercase = want->chrf.lowercase;
    want->sentence_bleu = want->bleu;
    want->sentence_bleu.effective_order = true;
    want->chrf.word_order = (int)word_order;
    return EXIT_DONE;
}

int verb_score(int argc, char **argv)
{
    wanted want = {.bleu = RGM_BLEU_OPTIONS_INIT, .chrf = RGM_CHRF_OPTIONS_INIT};
    const char *metrics = "bleu,chrf,ter", *tokenize = "13a", *smooth = "exp";
    int64_t word_order = 0;
    text_list rest;
    const argument arguments[] = {
        {"ref", ARG_LIST, &want.references, "FILE",
         "a reference, line by line; several are allowed"},
        {"metrics", ARG_TEXT, &metrics, "LIST", "of bleu, chrf, ter; default all"},
        {"tokenize", ARG_TEXT, &tokenize, "NAME", "BLEU: 13a (default), intl, char or none"},
        {"smooth", ARG_TEXT, &smooth, "NAME", "BLEU: exp (default), floor, add-k or none"},
        {"smooth-value", ARG_FLOAT, &want.bleu.smooth_value, "X",
         "of floor and add-k, above 0; default 0.1 and 1"},
        {"word-order", ARG_INT, &word_order, "N", "chrF: word n-grams too; 2 is chrF++"},
        {"lowercase", ARG_FLAG, &want.chrf.lowercase, NULL, "BLEU, chrF: without case"},
        {"case-sensitive", ARG_FLAG, &want.ter.case_sensitive, NULL, "TER: with case"},
        {"sentence", ARG_FLAG, &want.sentence, NULL, "each line's scores before the whole's"},
        {"json", ARG_FLAG, &want.json, NULL, "as one JSON object on stdout"},
        {0}};
    const usage how = {
        "score --ref FILE [--ref FILE]... [options] [FILE]",
        "BLEU, chrF and TER of the translations in FILE (default standard input), with\n"
        "signatures. Files are UTF-8, a sentence a line, plain or gzip.",
        arguments, 0, 1};
    int code = EXIT_DONE;

    want.bleu.smooth_value = NAN; /* not said */
    READ_ARGUMENTS(&rest, &how, argc, argv);
    want.hypothesis =
        rest.count > 0 && strcmp(rest.items[0], "-") != 0 ? rest.items[0] : "/dev/stdin";
    code = check(&want, metrics, tokenize, smooth, word_order);
    return code == EXIT_DONE ? score(&want) : code;
}
