/*
 * A tokenizer with the bytes of its file: a SentencePiece model that was checked, or a
 * tokenizer.json. And training a SentencePiece model.
 */
#include "bpe_internal.h"
#include "sentencepiece_shim.h"
#include "tokenizer_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    LARGEST_MODEL = 64 << 20,
    LARGEST_TEXT = 16 << 20,
    FEWEST_SENTENCES = 100 /* SentencePiece's */
};
/** Of all the text in memory; SentencePiece's arrays have 32-bit indices. */
#define MOST_CHARACTERS 2e9

struct rgm_tokenizer {
    atomic_int references;
    rgmi_sentencepiece *processor; /* NULL: it is ..          */
    rgmi_bpe *bpe;                 /* .. one that merges pairs */
    rgmi_vocabulary *vocabulary;   /* NULL: ids are the model's */
    rgm_text model;
};

void rgm_ids_clear(rgm_ids *ids)
{
    rgm_free(ids->items);
    *ids = (rgm_ids){0};
}

/* No SentencePiece model begins like an object of JSON: that would be a group of protobuf. White
 * space before it would be one: a line feed begins a piece. */
static bool is_json(const char *model, int64_t size)
{
    return size > 0 && model[0] == '{';
}

rgm_status rgm_tokenizer_create(rgm_tokenizer **out, const void *model, int64_t size,
                                const char *name)
{
    rgm_status status = RGM_OK;
    rgm_tokenizer *tokenizer = NULL;
    bool json;

    *out = NULL;
    if (size > LARGEST_MODEL)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: a tokenizer of %lld bytes; %d is the most", name,
                        (long long)size, LARGEST_MODEL);
    json = is_json(model, size);
    if (!json)
        RGM_TRY(rgmi_tokenizer_check(model, size, name));
    RGM_GO(RGM_NEW(tokenizer, 1));
    atomic_init(&tokenizer->references, 1);
    RGM_GO(rgm_text_add(&tokenizer->model, model, size));
    if (json)
        RGM_GO(rgmi_bpe_open(&tokenizer->bpe, model, size, name));
    else
        RGM_GO(rgmi_sentencepiece_open(&tokenizer->processor, model, size, name));
    *out = tokenizer;
    tokenizer = NULL;
done:
    rgm_tokenizer_release(tokenizer);
    return status;
}

rgm_status rgm_tokenizer_load(rgm_tokenizer **out, const char *path)
{
    rgm_status status;
    char *data = NULL;
    int64_t size;

    *out = NULL;
    RGM_TRY(rgm_file_load(&data, &size, path, LARGEST_MODEL));
    status = rgm_tokenizer_create(out, data, size, path);
    rgm_free(data);
    return status;
}

rgm_status rgm_tokenizer_load_with(rgm_tokenizer **out, const char *path, const char *vocabulary)
{
    rgm_tokenizer *tokenizer;
    rgm_status status = RGM_OK;

    RGM_TRY(rgm_tokenizer_load(out, path));
    if (vocabulary == NULL)
        return RGM_OK;
    tokenizer = *out;
    *out = NULL;
    if (tokenizer->bpe != NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s is a tokenizer.json, which has its ids in it: a vocabulary (%s) goes "
                        "with a SentencePiece model",
                        path, vocabulary));
    RGM_GO(rgmi_vocabulary_open(&tokenizer->vocabulary, vocabulary, tokenizer->processor,
                                &tokenizer->model));
    *out = tokenizer;
    tokenizer = NULL;
done:
    rgm_tokenizer_release(tokenizer);
    return status;
}

rgm_tokenizer *rgm_tokenizer_retain(const rgm_tokenizer *tokenizer)
{
    rgm_tokenizer *own = (rgm_tokenizer *)tokenizer;

    if (own != NULL)
        atomic_fetch_add_explicit(&own->references, 1, memory_order_relaxed);
    return own;
}

void rgm_tokenizer_release(rgm_tokenizer *tokenizer)
{
    if (tokenizer == NULL ||
        atomic_fetch_sub_explicit(&tokenizer->references, 1, memory_order_acq_rel) > 1)
        return;
    rgmi_sentencepiece_close(tokenizer->processor);
    rgmi_bpe_close(tokenizer->bpe);
    rgmi_vocabulary_close(tokenizer->vocabulary);
    rgm_text_clear(&tokenizer->model);
    rgm_free(tokenizer);
}

void rgm_tokenizers_mark(char out[RGM_TOKENIZERS_MARK], const rgm_tokenizer *source,
                         const rgm_tokenizer *target)
{
    const rgm_tokenizer *sides[] = {source, target};
    unsigned long long hashes[2];

    for (int i = 0; i < 2; i++) {
        const rgmi_vocabulary *v = sides[i]->vocabulary;
        hashes[i] = rgm_hash64(sides[i]->model.data, (size_t)sides[i]->model.size);
        if (v != NULL)
            hashes[i] = 3 * hashes[i] + rgm_hash64(v->file.data, (size_t)v->file.size);
    }
    snprintf(out, RGM_TOKENIZERS_MARK, "%016llx %016llx", hashes[0], hashes[1]);
}

const void *rgm_tokenizer_model(const rgm_tokenizer *tokenizer, int64_t *size)
{
    *size = tokenizer->model.size;
    return tokenizer->model.data;
}

const void *rgm_tokenizer_vocabulary(const rgm_tokenizer *tokenizer, int64_t *size)
{
    const rgmi_vocabulary *v = tokenizer->vocabulary;

    *size = v != NULL ? v->file.size : 0;
    return v != NULL ? v->file.data : NULL;
}

int64_t rgm_tokenizer_number(const rgm_tokenizer *tokenizer, int32_t id)
{
    const rgmi_vocabulary *v = tokenizer->vocabulary;

    if (v == NULL)
        return id;
    if (id == 0)
        return v->pad;
    return v->pad < 0 || id <= v->pad ? id - 1 : id;
}

static bool same_bytes(const rgm_text *a, const rgm_text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, (size_t)a->size) == 0;
}

bool rgm_tokenizers_share_ids(const rgm_tokenizer *a, const rgm_tokenizer *b)
{
    if (a == b || a == NULL || b == NULL)
        return a == b;
    if (a->vocabulary != NULL && b->vocabulary != NULL)
        return same_bytes(&a->vocabulary->file, &b->vocabulary->file);
    return a->vocabulary == b->vocabulary && same_bytes(&a->model, &b->model);
}

bool rgm_tokenizers_are_same(const rgm_tokenizer *a, const rgm_tokenizer *b)
{
    return rgm_tokenizers_share_ids(a, b) && (a == b || same_bytes(&a->model, &b->model));
}

int64_t rgm_tokenizer_size(const rgm_tokenizer *tokenizer)
{
    if (tokenizer->vocabulary != NULL)
        return tokenizer->vocabulary->count;
    return tokenizer->bpe != NULL ? tokenizer->bpe->count
                                  : rgmi_sentencepiece_size(tokenizer->processor);
}

int32_t rgm_tokenizer_pad_id(const rgm_tokenizer *tokenizer)
{
    if (tokenizer->vocabulary != NULL)
        return 0;
    return tokenizer->bpe != NULL ? tokenizer->bpe->pad_id
                                  : rgmi_sentencepiece_pad_id(tokenizer->processor);
}

int32_t rgm_tokenizer_unk_id(const rgm_tokenizer *tokenizer)
{
    if (tokenizer->vocabulary != NULL)
        return tokenizer->vocabulary->unk;
    return tokenizer->bpe != NULL ? tokenizer->bpe->unk_id
                                  : rgmi_sentencepiece_unk_id(tokenizer->processor);
}

int32_t rgm_tokenizer_bos_id(const rgm_tokenizer *tokenizer)
{
    if (tokenizer->vocabulary != NULL)
        return -1;
    return tokenizer->bpe != NULL ? tokenizer->bpe->bos_id
                                  : rgmi_sentencepiece_bos_id(tokenizer->processor);
}

int32_t rgm_tokenizer_eos_id(const rgm_tokenizer *tokenizer)
{
    if (tokenizer->vocabulary != NULL)
        return tokenizer->vocabulary->eos;
    return tokenizer->bpe != NULL ? tokenizer->bpe->eos_id
                                  : rgmi_sentencepiece_eos_id(tokenizer->processor);
}

const char *rgm_tokenizer_piece(const rgm_tokenizer *tokenizer, int32_t id)
{
    if (id < 0 || id >= rgm_tokenizer_size(tokenizer))
        return NULL;
    if (tokenizer->vocabulary != NULL)
        return tokenizer->vocabulary->pieces[id];
    if (tokenizer->bpe == NULL)
        return rgmi_sentencepiece_piece(tokenizer->processor, id);
    return tokenizer->bpe->tokens[id].size > 0
               ? tokenizer->bpe->bytes + tokenizer->bpe->tokens[id].at
               : "";
}

int32_t rgm_tokenizer_find(const rgm_tokenizer *tokenizer, const char *piece)
{
    int32_t id;

    if (tokenizer->vocabulary != NULL) {
        id = rgmi_vocabulary_find(tokenizer->vocabulary, piece);
        return id >= 0 ? id : tokenizer->vocabulary->unk;
    }
    if (tokenizer->bpe == NULL)
        return rgmi_sentencepiece_find(tokenizer->processor, piece);
    id = rgmi_bpe_find(tokenizer->bpe, piece, (int64_t)strlen(piece));
    return id >= 0 ? id : tokenizer->bpe->unk_id;
}

/* Where text follows a space: *word is the number of the word that it stands in. A piece that is
 * all spaces stands in the word that they begin. */
static int64_t word_of(int64_t *word, bool *begins, const char *piece, const char *space)
{
    size_t size = strlen(space);
    int64_t own = -1;

    while (*piece != '\0') {
        if (strncmp(piece, space, size) == 0) {
            *begins = true;
            piece += size;
            continue;
        }
        *word += *begins;
        *begins = false;
        own = own < 0 ? *word : own;
        piece++;
    }
    return own >= 0 ? own : *word + *begins;
}

void rgm_tokenizer_words(int64_t *words, const rgm_tokenizer *tokenizer, const int32_t *ids,
                         int64_t count)
{
    bool byte_level = tokenizer->bpe != NULL && tokenizer->bpe->byte_level, begins = true;
    int64_t word = -1, last;

    for (int64_t i = 0; i < count; i++) {
        const char *piece = rgm_tokenizer_piece(tokenizer, ids[i]);
        words[i] = word_of(&word, &begins, piece != NULL ? piece : "",
                           byte_level ? "\xc4\xa0" : "\xe2\x96\x81");
    }
    last = word > 0 ? word : 0;
    for (int64_t i = count - 1; i >= 0 && words[i] > last; i--)
        words[i] = last; /* spaces at the end begin no word */
}

static rgm_status check_size(int64_t size)
{
    if (size < 0 || size > LARGEST_TEXT)
        return RGM_FAIL(RGM_ERR_ARG, "a sentence of %lld bytes; %d is the most", (long long)size,
                        LARGEST_TEXT);
    return RGM_OK;
}

rgm_status rgm_tokenizer_encode(rgm_ids *ids, const rgm_tokenizer *tokenizer, const char *text,
                                int64_t size)
{
    RGM_TRY(check_size(size));
    if (tokenizer->bpe != NULL)
        return rgmi_bpe_encode(ids, tokenizer->bpe, text, size, NULL);
    if (tokenizer->vocabulary != NULL)
        return rgmi_vocabulary_encode(ids, tokenizer->vocabulary, tokenizer->processor, text, size,
                                      &(rgmi_segmentation){0});
    return rgmi_sentencepiece_encode(ids, tokenizer->processor, text, size);
}

rgm_status rgm_tokenizer_sample(rgm_ids *ids, const rgm_tokenizer *tokenizer, const char *text,
                                int64_t size, double alpha, uint64_t key)
{
    rgmi_bpe_draws draws = {.dropout = alpha};

    RGM_TRY(check_size(size));
    if (!(alpha >= 0 && alpha <= 1))
        return RGM_FAIL(RGM_ERR_ARG, "alpha of drawn segmentations is %g; it is 0 to 1", alpha);
    if (alpha == 0)
        return rgm_tokenizer_encode(ids, tokenizer, text, size);
    if (tokenizer->bpe != NULL) {
        draws.rng = rgm_rng_stream(key, "bpe-dropout", 0);
        return rgmi_bpe_encode(ids, tokenizer->bpe, text, size, &draws);
    }
    if (tokenizer->vocabulary != NULL)
        return rgmi_vocabulary_encode(ids, tokenizer->vocabulary, tokenizer->processor, text, size,
                                      &(rgmi_segmentation){alpha, key});
    return rgmi_sentencepiece_sample(ids, tokenizer->processor, text, size, alpha, key);
}

rgm_status rgm_tokenizer_decode(rgm_text *text, const rgm_tokenizer *tokenizer, const int32_t *ids,
                                int64_t count)
{
    int64_t size = rgm_tokenizer_size(tokenizer);

    for (int64_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= size)
            return RGM_FAIL(RGM_ERR_ARG, "id %d at place %lld; the tokenizer has %lld pieces",
                            ids[i], (long long)i, (long long)size);
    if (tokenizer->bpe != NULL)
        return rgmi_bpe_decode(text, tokenizer->bpe, ids, count);
    if (tokenizer->vocabulary != NULL)
        return rgmi_vocabulary_decode(text, tokenizer->vocabulary, tokenizer->processor, ids,
                                      count);
    return rgmi_sentencepiece_decode(text, tokenizer->processor, ids, count);
}

/* ---- training -------------------------------------------------------------------------------- */

/** Where sentences come from, and what the trainer got of them. */
typedef struct training_text training_text;
struct training_text {
    const rgm_tokenizer_options *options;
    rgm_status (*next)(training_text *text, rgm_str *sentence); /* RGM_END behind the last */
    const char *path;                                           /* of that sentence ...    */
    int64_t number;                                             /* and its line, from 1    */
    const char *const *paths;                                   /* next_of_files */
    int64_t count, open;
    rgm_line_reader *reader;
    const rgm_corpus *corpus;      /* next_of_corpus */
    int64_t sentences, characters; /* given so far   */
};

/** The lines of several files, one after the other. */
static rgm_status next_of_files(training_text *text, rgm_str *sentence)
{
    for (;;) {
        rgm_status status;

        if (text->reader == NULL && text->open == text->count)
            return RGM_END;
        if (text->reader == NULL) {
            text->path = text->paths[text->open++];
            RGM_TRY(rgm_path_refuse_pipe(text->path));
            RGM_TRY(rgm_line_reader_open(&text->reader, text->path, &text->options->lines));
        }
        status = rgm_line_reader_next(sentence, text->reader);
        if (status != RGM_END) {
            text->number = rgm_line_reader_line(text->reader);
            return status;
        }
        rgm_line_reader_close(text->reader);
        text->reader = NULL;
    }
}

/** The sentences of a corpus, one side after the other. */
static rgm_status next_of_corpus(training_text *text, rgm_str *sentence)
{
    int64_t count = rgm_corpus_count(text->corpus);
    bool is_target = text->open >= count;

    if (text->open >= count * (rgm_corpus_has_target(text->corpus) ? 2 : 1))
        return RGM_END;
    text->number = text->open++ % count + 1;
    text->path = is_target ? "the corpus' target" : "the corpus' source";
    *sentence = is_target ? rgm_corpus_target(text->corpus, text->number - 1)
                          : rgm_corpus_source(text->corpus, text->number - 1);
    return RGM_OK;
}

/** At the end, before the trainer begins with what it got: it would end the process on these. */
static rgm_status check_amount(const training_text *text)
{
    int64_t drawn = text->options->sentences;
    double share =
        drawn > 0 && drawn < text->sentences ? (double)drawn / (double)text->sentences : 1;

    if (text->sentences == 0 && text->corpus != NULL)
        return RGM_FAIL(RGM_ERR_DATA, "training a tokenizer: the corpus has no text");
    if (text->sentences == 0)
        return RGM_FAIL(RGM_ERR_DATA, "training a tokenizer: the %lld files have no text",
                        (long long)text->count);
    if (share * (double)text->characters > MOST_CHARACTERS)
        return RGM_FAIL(RGM_ERR_DATA,
                        "training a tokenizer: %.3g characters, more than %.0e; train on fewer "
                        "sentences",
                        share * (double)text->characters, MOST_CHARACTERS);
    RGM_TRY(rgmi_sentencepiece_train_room(share * (double)text->characters));
    return RGM_END;
}

/** The next sentence that says something and that the trainer survives. */
static rgm_status next_sentence(rgm_str *sentence, void *payload)
{
    training_text *text = payload;
    rgmi_training_line line;

    do {
        rgm_status status = text->next(text, sentence);

        if (status == RGM_END)
            return check_amount(text);
        RGM_TRY(status);
        RGM_TRY(rgmi_training_line_check(&line, *sentence, text->path, text->number));
    } while (line.blank);
    text->sentences++;
    text->characters += line.characters + 1;
    return RGM_OK;
}

static rgm_status check_options(const rgm_tokenizer_options *o)
{
    if (o->vocab_size < 4 || o->vocab_size > 1 << 24)
        return RGM_FAIL(RGM_ERR_ARG, "a vocabulary of %lld pieces; it has 4 to %d",
                        (long long)o->vocab_size, 1 << 24);
    if (o->type != RGM_TOKENIZER_UNIGRAM && o->type != RGM_TOKENIZER_BPE)
        return RGM_FAIL(RGM_ERR_ARG, "%d is no kind of tokenizer", (int)o->type);
    if (!(o->coverage > 0 && o->coverage <= 1))
        return RGM_FAIL(RGM_ERR_ARG, "character_coverage is %g; it is in (0, 1]", o->coverage);
    if (o->sentences < 0 || o->lines.max_line_bytes < 1 || o->lines.max_line_bytes > LARGEST_TEXT)
        return RGM_FAIL(RGM_ERR_ARG, "max_sentences is %lld, max_line_bytes %lld (1 to %d)",
                        (long long)o->sentences, (long long)o->lines.max_line_bytes, LARGEST_TEXT);
    if (o->sentences > 0 && o->sentences <= FEWEST_SENTENCES)
        return RGM_FAIL(RGM_ERR_ARG, "max_sentences is %lld; it is 0 (all) or more than %d",
                        (long long)o->sentences, FEWEST_SENTENCES);
    return RGM_OK;
}

const char *const rgm_tokenizer_kind_names[] = {"unigram", "bpe", NULL};

#define RGM_OPTIONS rgm_tokenizer_options
const rgm_field rgm_tokenizer_fields[] = {
    RGM_INT_FIELD(vocab_size, 0, 1e7, "pieces in all; 0: none is trained"),
    RGM_CHOICE_FIELD(type, rgm_tokenizer_kind_names, "kind of the SentencePiece model"),
    RGM_FLOAT_FIELD(coverage, RGM_ABOVE_0, 1, "share of the text whose characters get pieces"),
    RGM_INT_FIELD(sentences, 0, 1e12, "trained on that many, drawn from all; 0: on all"),
    {0}};
#undef RGM_OPTIONS

static rgm_status train(rgm_tokenizer **out, training_text *text)
{
    static const rgm_tokenizer_options usual = RGM_TOKENIZER_OPTIONS_INIT;
    rgm_status status;
    rgm_text model = {0};

    *out = NULL;
    if (text->options == NULL)
        text->options = &usual;
    RGM_TRY(check_options(text->options));
    RGM_GO(rgmi_sentencepiece_train(
        &model, text->options, rgm_tokenizer_kind_names[text->options->type], next_sentence, text));
    RGM_GO(rgm_tokenizer_create(out, model.data, model.size, "the trained tokenizer"));
done:
    rgm_line_reader_close(text->reader);
    rgm_text_clear(&model);
    return status;
}

rgm_status rgm_tokenizer_train(rgm_tokenizer **out, const char *const *paths, int64_t count,
                               const rgm_tokenizer_options *options)
{
    training_text text = {
        .options = options, .next = next_of_files, .paths = paths, .count = count};

    return train(out, &text);
}

rgm_status rgm_tokenizer_train_corpus(rgm_tokenizer **out, const rgm_corpus *corpus,
                                      const rgm_tokenizer_options *options)
{
    training_text text = {.options = options, .next = next_of_corpus, .corpus = corpus};

    return train(out, &text);
}
