/* regimen text: tokenizers trained and used, shortlists, alignments, how a corpus falls into
 * batches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#include <regimen/sequence.h>
#include <regimen/text_tokens.h>

/* Lines of FILE or standard input, each made into one of standard output. */
typedef rgm_status transform(rgm_text *out, rgm_str line, void *payload);

static rgm_status each_line(const char *path, transform *function, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_line_reader *reader = NULL;
    rgm_text out = {0};
    rgm_str line;

    RGM_GO(rgm_line_reader_open(&reader, path, NULL));
    while ((status = rgm_line_reader_next(&line, reader)) == RGM_OK) {
        out.size = 0;
        status = function(&out, line, payload);
        if (status != RGM_OK) {
            rgm_error_prefix(status, "%s:%lld", path, (long long)rgm_line_reader_line(reader));
            goto done;
        }
        RGM_GO(rgm_text_add(&out, "\n", 1));
        if (fwrite(out.data, 1, (size_t)out.size, stdout) != (size_t)out.size)
            RGM_GO(RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno)));
    }
    if (status == RGM_END)
        status = fflush(stdout) == 0 ? RGM_OK : RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno));
done:
    rgm_line_reader_close(reader);
    rgm_text_clear(&out);
    return status;
}

/* ---- train-tokenizer ------------------------------------------------------------------------- */

static rgm_status train(const char *out, const text_list *files, const rgm_tokenizer_options *o)
{
    rgm_tokenizer *tokenizer;
    rgm_status status;
    const void *model;
    int64_t size;

    RGM_TRY(rgm_tokenizer_train(&tokenizer, files->items, files->count, o));
    model = rgm_tokenizer_model(tokenizer, &size);
    status = rgm_file_save(out, model, size);
    if (status == RGM_OK)
        say("text", "%s: %s pieces", out, grouped(rgm_tokenizer_size(tokenizer)));
    rgm_tokenizer_release(tokenizer);
    return status;
}

static int text_train(int argc, char **argv)
{
    rgm_tokenizer_options o = RGM_TOKENIZER_OPTIONS_INIT;
    const char *out = NULL, *type = "unigram";
    text_list rest;
    const argument arguments[] = {
        {"vocab-size", ARG_INT, &o.vocab_size, "N", "pieces in all, default 8000"},
        {"out", ARG_TEXT, &out, "MODEL", "the file to write (required)"},
        {"type", ARG_TEXT, &type, "NAME", "unigram (default) or bpe"},
        {"coverage", ARG_FLOAT, &o.coverage, "X",
         "share of characters with a piece, default 0.9995"},
        {"sentences", ARG_INT, &o.sentences, "N",
         "train on that many, drawn from all; default: all"},
        {0}};
    const usage how = {
        "text train-tokenizer --vocab-size N --out MODEL [--type unigram|bpe] FILE...",
        "Train a SentencePiece model on the lines of text files, plain or gzip. Ids: 0\n"
        "padding, 1 end of sentence, 2 unknown. The same files give the same model.",
        arguments, 1, 256};
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (out == NULL)
        return usage_error("--out is needed: the model's file");
    while (rgm_tokenizer_kind_names[o.type] != NULL &&
           strcmp(rgm_tokenizer_kind_names[o.type], type) != 0)
        o.type++;
    if (rgm_tokenizer_kind_names[o.type] == NULL)
        return usage_error("--type '%s' is none of unigram, bpe", type);
    status = train(out, &rest, &o);
    if (status == RGM_ERR_ARG) { /* an option out of its range */
        (void)report(status);
        return EXIT_USAGE;
    }
    return report(status);
}

/* ---- encode, decode -------------------------------------------------------------------------- */

/* A tokenizer as --model and --vocabulary name it. */
typedef struct tokenizer_files {
    const char *model, *vocabulary;
} tokenizer_files;
#define MODEL(files)                                                                               \
    {                                                                                              \
        "model", ARG_TEXT, &(files).model, "MODEL",                                                \
            "SentencePiece model or tokenizer.json (required)"                                     \
    }
#define VOCABULARY(files)                                                                          \
    {                                                                                              \
        "vocabulary", ARG_TEXT, &(files).vocabulary, "FILE",                                       \
            "{piece: id, ..}, JSON or YAML: the pieces' ids, padding first"                        \
    }

typedef struct coding {
    const rgm_tokenizer *tokenizer;
    rgm_ids ids;
    bool pieces;
} coding;

static rgm_status encode_line(rgm_text *out, rgm_str line, void *payload)
{
    coding *c = payload;

    c->ids.count = 0;
    RGM_TRY(rgm_tokenizer_encode(&c->ids, c->tokenizer, line.data, line.size));
    for (int64_t i = 0; i < c->ids.count; i++) {
        const char *space = i > 0 ? " " : "";

        if (c->pieces)
            RGM_TRY(rgm_text_printf(out, "%s%s", space,
                                    rgm_tokenizer_piece(c->tokenizer, c->ids.items[i])));
        else
            RGM_TRY(rgm_text_printf(out, "%s%d", space, c->ids.items[i]));
    }
    return RGM_OK;
}

static rgm_status decode_line(rgm_text *out, rgm_str line, void *payload)
{
    coding *c = payload;
    const char *at = line.data, *end = line.data + line.size;

    c->ids.count = 0;
    while (at < end) {
        int64_t id = 0;

        if (*at == ' ') {
            at++;
            continue;
        }
        for (; at < end && *at >= '0' && *at <= '9' && id < INT32_MAX / 10; at++)
            id = id * 10 + (*at - '0');
        if (at < end && *at != ' ')
            return RGM_FAIL(RGM_ERR_FORMAT, "byte %lld: not an id",
                            (long long)(at - line.data) + 1);
        RGM_TRY(RGM_RESERVE(c->ids.items, c->ids.capacity, c->ids.count + 1));
        c->ids.items[c->ids.count++] = (int32_t)id;
    }
    return rgm_tokenizer_decode(out, c->tokenizer, c->ids.items, c->ids.count);
}

/* Both verbs: they differ in what is done with a line. */
static int code_lines(const usage *how, const tokenizer_files *files, coding *c,
                      transform *function, int argc, char **argv)
{
    rgm_tokenizer *tokenizer = NULL;
    rgm_status status;
    text_list rest;
    int code;

    READ_ARGUMENTS(&rest, how, argc, argv);
    if (files->model == NULL)
        return usage_error("--model is needed: a SentencePiece model or a tokenizer.json");
    status = rgm_tokenizer_load_with(&tokenizer, files->model, files->vocabulary);
    c->tokenizer = tokenizer;
    if (status == RGM_OK)
        status = each_line(rest.count > 0 ? rest.items[0] : "/dev/stdin", function, c);
    code = report(status);
    rgm_ids_clear(&c->ids);
    rgm_tokenizer_release(tokenizer);
    return code;
}

static int text_encode(int argc, char **argv)
{
    tokenizer_files files = {0};
    coding c = {0};
    const argument arguments[] = {
        MODEL(files),
        VOCABULARY(files),
        {"pieces", ARG_FLAG, &c.pieces, NULL, "the pieces' text instead of their ids"},
        {0}};
    const usage how = {
        "text encode --model MODEL [--vocabulary FILE] [--pieces] [FILE]",
        "The ids of each line, as spm_encode or Hugging Face's tokenizers give them. FILE:\n"
        "default standard input.",
        arguments, 0, 1};

    return code_lines(&how, &files, &c, encode_line, argc, argv);
}

static int text_decode(int argc, char **argv)
{
    tokenizer_files files = {0};
    coding c = {0};
    const argument arguments[] = {MODEL(files), VOCABULARY(files), {0}};
    const usage how = {"text decode --model MODEL [--vocabulary FILE] [FILE]",
                       "The text of each line of ids. FILE: default standard input.", arguments, 0,
                       1};

    return code_lines(&how, &files, &c, decode_line, argc, argv);
}

/* ---- stats ----------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

typedef const int32_t *side_of(const rgm_token_pairs *pairs, int64_t i, int64_t *count);

/* "source   least 3  median 14  mean 14.9  99% 30  most 58" */
static rgm_status print_lengths(rgm_text *out, const char *name, const rgm_token_pairs *pairs,
                                side_of *side)
{
    int64_t n = rgm_token_pairs_count(pairs), sum = 0, *lengths;
    rgm_status status;

    RGM_TRY(RGM_NEW(lengths, n));
    for (int64_t i = 0; i < n; i++) {
        (void)side(pairs, i, &lengths[i]);
        sum += lengths[i];
    }
    qsort(lengths, (size_t)n, sizeof *lengths, by_size);
    status = rgm_text_printf(
        out, "%-10s least %lld, median %lld, mean %.1f, 99%% up to %lld, most %lld\n", name,
        (long long)lengths[0], (long long)lengths[n / 2], (double)sum / (double)n,
        (long long)lengths[(n - 1) * 99 / 100], (long long)lengths[n - 1]);
    rgm_free(lengths);
    return status;
}

static rgm_status print_batches(rgm_text *out, const rgm_token_pairs *pairs,
                                const rgm_token_batch_options *o)
{
    rgm_dataset *batches;
    rgm_token_batch_figures f;
    rgm_status status;

    RGM_TRY(rgm_token_batches(&batches, pairs, o));
    status = rgm_token_batches_figures(&f, batches);
    rgm_dataset_release(batches);
    RGM_TRY(status);
    if (o->training)
        RGM_TRY(rgm_text_printf(out, "dropped    %s pairs longer than %lld\n", grouped(f.dropped),
                                (long long)o->max_length));
    else
        RGM_TRY(rgm_text_printf(out, "cut        %s pairs longer than %lld\n", grouped(f.cut),
                                (long long)o->max_length));
    return rgm_text_printf(out,
                           "batches    %s of at most %s tokens, %lld shapes\n"
                           "real       %s of %s padded tokens: %.3f\n",
                           grouped(f.batches), grouped(o->tokens), (long long)f.shapes,
                           grouped(f.real_tokens), grouped(f.padded_tokens),
                           (double)f.real_tokens / (double)f.padded_tokens);
}

static rgm_status stats_of(const rgm_corpus *corpus, const rgm_tokenizer *tokenizer,
                           const rgm_token_batch_options *o)
{
    rgm_status status = RGM_OK;
    rgm_token_pairs *pairs = NULL;
    rgm_text out = {0};

    if (rgm_corpus_count(corpus) == 0)
        return RGM_FAIL(RGM_ERR_DATA, "the corpus has no lines");
    RGM_GO(rgm_token_pairs_encode(&pairs, corpus, tokenizer, tokenizer, 4));
    RGM_GO(rgm_text_printf(&out, "pairs      %s, %s with an empty side\n",
                           grouped(rgm_corpus_count(corpus)), grouped(rgm_corpus_empty(corpus))));
    RGM_GO(print_lengths(&out, "source", pairs, rgm_token_pairs_source));
    if (rgm_corpus_has_target(corpus))
        RGM_GO(print_lengths(&out, "target", pairs, rgm_token_pairs_target));
    RGM_GO(print_batches(&out, pairs, o));
    if (print_text(out.data) != EXIT_DONE)
        status = RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno));
done:
    rgm_text_clear(&out);
    rgm_token_pairs_release(pairs);
    return status;
}

/* What no batch could be made with, before files are read for it. */
static int check_batches(const rgm_token_batch_options *o)
{
    if (o->max_length < 1 || o->max_length > 1 << 16)
        return usage_error("--max-length is %lld, but must be in [1, %d]", (long long)o->max_length,
                           1 << 16);
    if (o->tokens < o->max_length)
        return usage_error("--tokens is %lld, but a pair may have --max-length %lld",
                           (long long)o->tokens, (long long)o->max_length);
    if (o->max_shapes < 2)
        return usage_error("--shapes is %lld, but must be at least 2", (long long)o->max_shapes);
    return EXIT_DONE;
}

static int text_stats(int argc, char **argv)
{
    rgm_token_batch_options o = RGM_TOKEN_BATCH_OPTIONS_INIT;
    tokenizer_files files = {0};
    bool tsv = false, evaluation = false;
    text_list rest;
    const argument arguments[] = {
        {"model", ARG_TEXT, &files.model, "MODEL", "tokenizer of both sides (required)"},
        VOCABULARY(files),
        {"tokens", ARG_INT, &o.tokens, "N", "budget: rows * longer side of a batch, default 4096"},
        {"max-length", ARG_INT, &o.max_length, "N", "of a side with its end, default 64"},
        {"shapes", ARG_INT, &o.max_shapes, "N", "most batch shapes, default 32"},
        {"evaluation", ARG_FLAG, &evaluation, NULL, "cut long sides instead of dropping the pair"},
        {"tsv", ARG_FLAG, &tsv, NULL, "one FILE of lines: source TAB target"},
        {0}};
    const usage how = {"text stats --model MODEL [options] SOURCE [TARGET]",
                       "Lengths of a corpus in ids, end of sentence included, and the batches and\n"
                       "padding of an epoch.",
                       arguments, 1, 2};
    rgm_tokenizer *tokenizer = NULL;
    rgm_corpus *corpus = NULL;
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (files.model == NULL)
        return usage_error("--model is needed: a SentencePiece model or a tokenizer.json");
    if (tsv && rest.count != 1)
        return usage_error("--tsv takes one FILE");
    code = check_batches(&o);
    if (code != EXIT_DONE)
        return code;
    o.training = !evaluation;
    status = rgm_tokenizer_load_with(&tokenizer, files.model, files.vocabulary);
    if (status == RGM_OK)
        status = tsv ? rgm_corpus_load_tsv(&corpus, rest.items[0], NULL)
                     : rgm_corpus_load(&corpus, rest.items[0],
                                       rest.count > 1 ? rest.items[1] : NULL, NULL);
    if (status == RGM_OK)
        status = stats_of(corpus, tokenizer, &o);
    code = report(status);
    rgm_corpus_release(corpus);
    rgm_tokenizer_release(tokenizer);
    return code;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

typedef struct tokens_arguments {
    const char *model, *out, *documents;
    int64_t threads;
} tokens_arguments;

static rgm_status make_tokens(const tokens_arguments *a, const text_list *files,
                              rgm_documents documents)
{
    rgm_status status = RGM_OK;
    rgm_tokenizer *tokenizer = NULL;
    rgm_tokens *tokens = NULL;
    rgm_tokens_info info;

    RGM_GO(rgm_tokenizer_load(&tokenizer, a->model));
    RGM_GO(rgm_tokens_encode(&tokens, files->items, files->count, tokenizer, documents,
                             (int)a->threads));
    RGM_GO(rgm_tokens_save(tokens, a->out));
    rgm_tokens_get_info(&info, tokens);
    say("text", "%s: %s tokens of %s documents, %.2f bytes of text a token", a->out,
        grouped(info.tokens), grouped(info.documents), (double)info.bytes / (double)info.tokens);
done:
    rgm_tokens_release(tokens);
    rgm_tokenizer_release(tokenizer);
    return status;
}

static int text_tokens(int argc, char **argv)
{
    tokens_arguments a = {.documents = "lines", .threads = 1};
    int documents = 0;
    text_list rest;
    const argument arguments[] = {
        {"model", ARG_TEXT, &a.model, "MODEL", "SentencePiece model or tokenizer.json (required)"},
        {"out", ARG_TEXT, &a.out, "FILE", "the file to write (required)"},
        {"documents", ARG_TEXT, &a.documents, "NAME",
         "what is a document: lines (default), paragraphs (up to an empty line), files"},
        {"threads", ARG_COUNT, &a.threads, "N", "default 1; changes nothing but the time"},
        {0}};
    const usage how = {"text tokens --model MODEL --out FILE [--documents NAME] TEXT...",
                       "The tokens of text files, plain or gzip, as one file that language models\n"
                       "are trained on. Each document ends with the tokenizer's end.",
                       arguments, 1, 256};

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (a.model == NULL || a.out == NULL)
        return usage_error("--model and --out are needed: a tokenizer, and the file to write");
    if (a.threads > 256)
        return usage_error("--threads is %lld; at most 256", (long long)a.threads);
    while (rgm_documents_names[documents] != NULL &&
           strcmp(rgm_documents_names[documents], a.documents) != 0)
        documents++;
    if (rgm_documents_names[documents] == NULL)
        return usage_error("--documents '%s' is none of lines, paragraphs, files", a.documents);
    return report(make_tokens(&a, &rest, (rgm_documents)documents));
}

/* ---- train-shortlist, align ------------------------------------------------------------------ */

/* A parallel corpus in tokens. */
typedef struct parallel {
    tokenizer_files source_files, target_files; /* target_files.model NULL: the source's */
    bool tsv;
    rgm_tokenizer *source, *target;
    rgm_corpus *corpus;
    rgm_token_pairs *pairs;
} parallel;

/* Its options for a verb's table. */
#define PARALLEL_ARGUMENTS(p)                                                                      \
    {"model", ARG_TEXT, &(p).source_files.model, "MODEL",                                          \
     "SentencePiece model of both sides, or of the source (required)"},                            \
        {"target-model", ARG_TEXT, &(p).target_files.model, "MODEL",                               \
         "that of the target, if it has its own"},                                                 \
        VOCABULARY((p).source_files),                                                              \
        {"target-vocabulary", ARG_TEXT, &(p).target_files.vocabulary, "FILE",                      \
         "that of the target, if it has its own"},                                                 \
    {                                                                                              \
        "tsv", ARG_FLAG, &(p).tsv, NULL, "one FILE of lines: source TAB target"                    \
    }

static rgm_status load_pairs(parallel *j, const text_list *files)
{
    tokenizer_files target = j->target_files;

    RGM_TRY(rgm_tokenizer_load_with(&j->source, j->source_files.model, j->source_files.vocabulary));
    if (target.model == NULL)
        target.model = j->source_files.model;
    if (target.vocabulary == NULL)
        target.vocabulary = j->source_files.vocabulary;
    if (j->target_files.model != NULL || j->target_files.vocabulary != NULL)
        RGM_TRY(rgm_tokenizer_load_with(&j->target, target.model, target.vocabulary));
    else
        j->target = rgm_tokenizer_retain(j->source);
    RGM_TRY(j->tsv ? rgm_corpus_load_tsv(&j->corpus, files->items[0], NULL)
                   : rgm_corpus_load(&j->corpus, files->items[0], files->items[1], NULL));
    return rgm_token_pairs_encode(&j->pairs, j->corpus, j->source, j->target, 4);
}

static void parallel_clear(parallel *j)
{
    rgm_token_pairs_release(j->pairs);
    rgm_corpus_release(j->corpus);
    rgm_tokenizer_release(j->source);
    rgm_tokenizer_release(j->target);
}

/* pairs [count] of tokens, with their ends or without. */
static void list_sequences(rgm_sequence_pair *pairs, const parallel *j, bool ends)
{
    for (int64_t i = 0; i < rgm_token_pairs_count(j->pairs); i++) {
        pairs[i].source = rgm_token_pairs_source(j->pairs, i, &pairs[i].source_count);
        pairs[i].target = rgm_token_pairs_target(j->pairs, i, &pairs[i].target_count);
        pairs[i].source_count -= !ends;
        pairs[i].target_count -= !ends;
    }
}

/* What a shortlist is learned from and where it goes. */
typedef struct shortlist_job {
    parallel text;
    const char *out;
    rgm_shortlist_options options;
} shortlist_job;

/* The target's piece of the same text as each of the source's, -1: there is none, or it has no
 * text of its own. */
static rgm_status list_copies(int32_t **out, const rgm_tokenizer *source,
                              const rgm_tokenizer *target)
{
    const int32_t special[] = {rgm_tokenizer_pad_id(target), rgm_tokenizer_eos_id(target),
                               rgm_tokenizer_unk_id(target), rgm_tokenizer_bos_id(target)};
    int64_t count = rgm_tokenizer_size(source);

    RGM_TRY(RGM_NEW(*out, count));
    for (int64_t f = 0; f < count; f++) {
        const char *piece = rgm_tokenizer_piece(source, (int32_t)f), *same;
        int32_t id = rgm_tokenizer_find(target, piece);

        for (int i = 0; i < 4; i++)
            id = id == special[i] ? -1 : id;
        same = id >= 0 ? rgm_tokenizer_piece(target, id) : "";
        (*out)[f] = strcmp(piece, same) == 0 && *piece != '\0' ? id : -1;
    }
    return RGM_OK;
}

static rgm_status learn_shortlist(const shortlist_job *j)
{
    int64_t count = rgm_token_pairs_count(j->text.pairs);
    char mark[RGM_TOKENIZERS_MARK];
    rgm_shortlist_options options = j->options;
    rgm_status status = RGM_OK;
    rgm_sequence_pair *pairs = NULL;
    int32_t *copies = NULL;
    rgm_shortlist *list = NULL;
    rgm_shortlist_figures f;

    rgm_tokenizers_mark(mark, j->text.source, j->text.target);
    options.mark = mark;
    RGM_GO(list_copies(&copies, j->text.source, j->text.target));
    options.copies = copies;
    RGM_GO(RGM_NEW(pairs, count));
    list_sequences(pairs, &j->text, true);
    RGM_GO(rgm_shortlist_learn(&list, pairs, count, rgm_tokenizer_size(j->text.source),
                               rgm_tokenizer_size(j->text.target), &options));
    RGM_GO(rgm_shortlist_save(j->out, list));
    f = rgm_shortlist_describe(list);
    say("text", "%s: %lld frequent tokens and %.1f more for each of %s, of %s pairs", j->out,
        (long long)f.first, (double)f.entries / (double)f.source_vocabulary,
        grouped(f.source_vocabulary), grouped(f.pairs));
done:
    rgm_shortlist_release(list);
    rgm_free(copies);
    rgm_free(pairs);
    return status;
}

static int text_shortlist(int argc, char **argv)
{
    shortlist_job j = {.options = RGM_SHORTLIST_OPTIONS_INIT};
    text_list rest;
    const argument arguments[] = {
        PARALLEL_ARGUMENTS(j.text),
        {"out", ARG_TEXT, &j.out, "FILE", "the file to write (required)"},
        {"first", ARG_INT, &j.options.first, "N",
         "the most frequent tokens, for every sentence; default 200"},
        {"best", ARG_INT, &j.options.best, "N",
         "the most probable ones for each token of its source; default 100"},
        {0}};
    const usage how = {
        "text train-shortlist --model MODEL --out FILE [--first N] [--best N] SOURCE TARGET",
        "Learn from a parallel corpus which target tokens may translate each source token.\n"
        "Translations are then searched among these: regimen translate --shortlist FILE.",
        arguments, 1, 2};
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (j.text.source_files.model == NULL || j.out == NULL)
        return usage_error(
            "--model and --out are needed: a SentencePiece model, the file to write");
    if (rest.count != (j.text.tsv ? 1 : 2))
        return usage_error(j.text.tsv ? "--tsv takes one FILE" : "two files are needed, or --tsv");
    status = load_pairs(&j.text, &rest);
    if (status == RGM_OK)
        status = learn_shortlist(&j);
    parallel_clear(&j.text);
    return report(status);
}

/* How a corpus is aligned. */
typedef struct align_job {
    parallel text;
    double diagonal;
    bool both, pieces;
} align_job;

static int by_source(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Links of a pair in the order of the source, each once. units [2] [longest side] and found [2
 * target_count] are room. */
static rgm_status write_links(rgm_text *out, const align_job *j, const rgm_sequence_pair *pair,
                              const int32_t *links, int64_t *const units[2], int64_t *found)
{
    int64_t count = 0;

    out->size = 0;
    for (int64_t k = 0; k < pair->source_count; k++)
        units[0][k] = k;
    for (int64_t k = 0; k < pair->target_count; k++)
        units[1][k] = k;
    if (!j->pieces) {
        rgm_tokenizer_words(units[0], j->text.source, pair->source, pair->source_count);
        rgm_tokenizer_words(units[1], j->text.target, pair->target, pair->target_count);
    }
    for (int64_t k = 0; k < pair->target_count; k++)
        if (links[k] >= 0) {
            found[2 * count] = units[0][links[k]];
            found[2 * count++ + 1] = units[1][k];
        }
    qsort(found, (size_t)count, 2 * sizeof *found, by_source);
    for (int64_t k = 0; k < count; k++)
        if (k == 0 || by_source(found + 2 * k - 2, found + 2 * k) != 0)
            RGM_TRY(rgm_text_printf(out, "%s%lld-%lld", out->size > 0 ? " " : "",
                                    (long long)found[2 * k], (long long)found[2 * k + 1]));
    return rgm_text_add(out, "\n", 1);
}

static rgm_status print_links(const align_job *j, const rgm_sequence_pair *pairs, int64_t count,
                              const int32_t *links, int64_t longest)
{
    rgm_status status = RGM_OK;
    int64_t *units[2] = {NULL, NULL}, *found = NULL;
    rgm_text out = {0};

    RGM_GO(RGM_NEW(units[0], longest));
    RGM_GO(RGM_NEW(units[1], longest));
    RGM_GO(RGM_NEW(found, 2 * longest));
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(write_links(&out, j, &pairs[i], links, units, found));
        links += pairs[i].target_count;
        if (fwrite(out.data, 1, (size_t)out.size, stdout) != (size_t)out.size)
            RGM_GO(RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno)));
    }
    if (fflush(stdout) != 0)
        status = RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno));
done:
    rgm_free(units[0]);
    rgm_free(units[1]);
    rgm_free(found);
    rgm_text_clear(&out);
    return status;
}

static rgm_status align_corpus(const align_job *j)
{
    int64_t count = rgm_token_pairs_count(j->text.pairs), targets = 0, longest = 1;
    int64_t sizes[2] = {rgm_tokenizer_size(j->text.source), rgm_tokenizer_size(j->text.target)};
    rgm_status status = RGM_OK;
    rgm_sequence_pair *pairs = NULL;
    int32_t *links = NULL;

    RGM_GO(RGM_NEW(pairs, count));
    list_sequences(pairs, &j->text, false);
    for (int64_t i = 0; i < count; i++) {
        targets += pairs[i].target_count;
        longest = pairs[i].source_count > longest ? pairs[i].source_count : longest;
        longest = pairs[i].target_count > longest ? pairs[i].target_count : longest;
    }
    RGM_GO(RGM_NEW(links, targets));
    RGM_GO((j->both ? rgm_pairs_align_both : rgm_pairs_align)(links, pairs, count, sizes[0],
                                                              sizes[1], j->diagonal));
    RGM_GO(print_links(j, pairs, count, links, longest));
done:
    rgm_free(pairs);
    rgm_free(links);
    return status;
}

static int text_align(int argc, char **argv)
{
    align_job j = {.diagonal = 4};
    text_list rest;
    const argument arguments[] = {
        PARALLEL_ARGUMENTS(j.text),
        {"both", ARG_FLAG, &j.both, NULL, "only links that are also found the other way round"},
        {"pieces", ARG_FLAG, &j.pieces, NULL, "numbers of pieces of the tokenizer, not of words"},
        {"diagonal", ARG_FLOAT, &j.diagonal, "X",
         "how much it counts that places are alike, 0: not at all; default 4"},
        {0}};
    const usage how = {
        "text align --model MODEL [--both] [--pieces] SOURCE TARGET > ALIGNMENTS",
        "Learn from a parallel corpus which words of each pair go together, and write a line\n"
        "\"0-0 1-2 ..\" for each: IBM's model 1 over pieces, in which places that are alike count\n"
        "more (fast_align with a fixed diagonal). For data.alignments.",
        arguments, 1, 2};
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (j.text.source_files.model == NULL)
        return usage_error("--model is needed: a SentencePiece model");
    if (rest.count != (j.text.tsv ? 1 : 2))
        return usage_error(j.text.tsv ? "--tsv takes one FILE" : "two files are needed, or --tsv");
    if (!(j.diagonal >= 0))
        return usage_error("--diagonal is %g; it is 0 or more", j.diagonal);
    status = load_pairs(&j.text, &rest);
    if (status == RGM_OK)
        status = align_corpus(&j);
    parallel_clear(&j.text);
    return report(status);
}

/* ---- the verb -------------------------------------------------------------------------------- */

static const verb verbs[] = {
    {"train-tokenizer", text_train, "a SentencePiece model from text files"},
    {"encode", text_encode, "lines to ids"},
    {"decode", text_decode, "ids to lines"},
    {"train-shortlist", text_shortlist, "which target tokens may translate each source token"},
    {"align", text_align, "which words of a parallel corpus go together"},
    {"stats", text_stats, "lengths of a parallel corpus, its batches and their padding"},
    {"tokens", text_tokens, "text files to a token file, for language models"},
};

int verb_text(int argc, char **argv)
{
    return verb_family("text", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
