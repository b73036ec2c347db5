/*
 * Tokenizers: training is reproducible, ids lead back to the text, and no damaged or hostile model
 * does more than fail. (That the ids are spm_encode's is checked by tests/text_test.sh.)
 */
#include <check.h>

#include <fcntl.h>
#include <math.h>
#include <unistd.h>
#include <regimen/text.h>

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

static const char *file(const char *name, const char *data, int64_t size)
{
    static char path[256];
    int fd;

    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0 && write(fd, data, (size_t)size) == (ssize_t)size);
    close(fd);
    return path;
}

/** Words of two to four syllables, so that there is something to find in them. */
static void sentence(rgm_text *out, uint64_t number)
{
    static const char *const syllables[] = {"ta", "ne", "lö",  "ris", "um",  "fuß",
                                            "ga", "po", "ski", "ei",  "ber", "dü"};
    enum { SYLLABLES = sizeof syllables / sizeof *syllables };
    rgm_rng rng = rgm_rng_stream(3, "sentence", number);
    uint64_t draw = 0, count = 4 + rgm_rng_below(&rng, draw++, 9);

    out->size = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t parts = 2 + rgm_rng_below(&rng, draw++, 3);

        CHECK_OK(rgm_text_add(out, " ", i > 0));
        for (uint64_t k = 0; k < parts; k++)
            CHECK_OK(rgm_text_printf(out, "%s", syllables[rgm_rng_below(&rng, draw++, SYLLABLES)]));
    }
}

/** A file of 600 sentences, an empty line among them. */
static const char *training_file(void)
{
    rgm_text text = {0}, one = {0};
    const char *path;

    for (uint64_t i = 0; i < 600; i++) {
        sentence(&one, i);
        CHECK_OK(rgm_text_printf(&text, "%s\n%s", one.data, i == 7 ? "\n" : ""));
    }
    path = file("train.txt", text.data, text.size);
    rgm_text_clear(&text);
    rgm_text_clear(&one);
    return path;
}

static rgm_tokenizer *small(rgm_tokenizer_kind kind, int64_t max_sentences)
{
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    const char *path = training_file();
    rgm_tokenizer *tokenizer;

    options.vocab_size = 60;
    options.type = kind;
    options.sentences = max_sentences;
    CHECK_OK(rgm_tokenizer_train(&tokenizer, &path, 1, &options));
    return tokenizer;
}

static bool same_model(rgm_tokenizer *a, rgm_tokenizer *b)
{
    int64_t size, other;
    const void *x = rgm_tokenizer_model(a, &size), *y = rgm_tokenizer_model(b, &other);
    bool same = size == other && memcmp(x, y, (size_t)size) == 0;

    rgm_tokenizer_release(a);
    rgm_tokenizer_release(b);
    return same;
}

static void training_gives_the_ids_a_translation_model_wants(void **state)
{
    (void)state;
    for (int kind = RGM_TOKENIZER_UNIGRAM; kind <= RGM_TOKENIZER_BPE; kind++) {
        rgm_tokenizer *t = small((rgm_tokenizer_kind)kind, 0);

        CHECK_INT(60, rgm_tokenizer_size(t));
        CHECK_INT(0, rgm_tokenizer_pad_id(t));
        CHECK_INT(1, rgm_tokenizer_eos_id(t));
        CHECK_INT(2, rgm_tokenizer_unk_id(t));
        CHECK_INT(-1, rgm_tokenizer_bos_id(t));
        CHECK_TEXT("<pad>", rgm_tokenizer_piece(t, 0));
        CHECK_TEXT("</s>", rgm_tokenizer_piece(t, 1));
        CHECK(rgm_tokenizer_piece(t, 60) == NULL && rgm_tokenizer_piece(t, -1) == NULL);
        for (int32_t id = 0; id < 60; id++)
            CHECK_INT(id, rgm_tokenizer_find(t, rgm_tokenizer_piece(t, id)));
        CHECK_INT(2, rgm_tokenizer_find(t, "no such piece"));
        rgm_tokenizer_release(t);
    }
}

static void the_same_text_trains_the_same_model(void **state)
{
    (void)state;
    CHECK(same_model(small(RGM_TOKENIZER_UNIGRAM, 0), small(RGM_TOKENIZER_UNIGRAM, 0)));
    CHECK(same_model(small(RGM_TOKENIZER_BPE, 200), small(RGM_TOKENIZER_BPE, 200)));
    CHECK(!same_model(small(RGM_TOKENIZER_UNIGRAM, 200), small(RGM_TOKENIZER_UNIGRAM, 0)));
}

/* The word of a piece is the number of spaces in the text up to it. */
static void check_words(const rgm_tokenizer *t, const rgm_ids *ids)
{
    int64_t words[512];
    rgm_text text = {0};

    CHECK(ids->count <= 512);
    rgm_tokenizer_words(words, t, ids->items, ids->count);
    for (int64_t i = 0; i < ids->count; i++) {
        int64_t spaces = 0;
        text.size = 0;
        CHECK_OK(rgm_tokenizer_decode(&text, t, ids->items, i + 1));
        for (int64_t k = 0; k < text.size; k++)
            spaces += text.data[k] == ' ';
        CHECK_INT(spaces, words[i]);
    }
    rgm_text_clear(&text);
}

static void ids_lead_back_to_the_text(void **state)
{
    (void)state;
    rgm_tokenizer *trained = small(RGM_TOKENIZER_UNIGRAM, 0), *t;
    rgm_text text = {0}, back = {0};
    rgm_ids ids = {0};
    int64_t size;
    const void *model = rgm_tokenizer_model(trained, &size);

    CHECK_OK(rgm_tokenizer_load(&t, file("small.model", model, size)));
    for (uint64_t i = 1000; i < 1100; i++) {
        ids.count = back.size = 0;
        sentence(&text, i);
        CHECK_OK(rgm_tokenizer_encode(&ids, t, text.data, text.size));
        CHECK_OK(rgm_tokenizer_decode(&back, t, ids.items, ids.count));
        CHECK_TEXT(text.data, back.data);
        check_words(t, &ids);
    }
    ids.count = 0;
    CHECK_OK(rgm_tokenizer_encode(&ids, t, "", 0));
    CHECK_INT(0, ids.count);
    CHECK_OK(rgm_tokenizer_encode(&ids, t, "\xff\xfe \0", 4)); /* no text, and no crash */
    CHECK_STATUS(RGM_ERR_ARG, rgm_tokenizer_decode(&back, t, (int32_t[]){3, 60}, 2));
    CHECK_MESSAGE("id 60 at place 1; the tokenizer has 60 pieces");
    CHECK_STATUS(RGM_ERR_ARG, rgm_tokenizer_decode(&back, t, (int32_t[]){-1}, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_tokenizer_encode(&ids, t, text.data, INT64_C(1) << 40));
    rgm_tokenizer_release(rgm_tokenizer_retain(t));
    rgm_tokenizer_release(t);
    CHECK_EVERY_OOM(rgm_tokenizer_create(&t, model, size, "small"), rgm_tokenizer_release(t));
    rgm_tokenizer_release(trained);
    rgm_ids_clear(&ids);
    rgm_text_clear(&text);
    rgm_text_clear(&back);
}

static void training_tells_what_it_cannot_do(void **state)
{
    (void)state;
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    const char *path = training_file();
    rgm_tokenizer *t;

    options.vocab_size = 5000;
    CHECK_STATUS(RGM_ERR_DATA, rgm_tokenizer_train(&t, &path, 1, &options));
    CHECK_MESSAGE("Vocabulary size too high");
    CHECK(t == NULL);
    options.vocab_size = 3;
    CHECK_STATUS(RGM_ERR_ARG, rgm_tokenizer_train(&t, &path, 1, &options));
    options.vocab_size = 8;
    CHECK_STATUS(RGM_ERR_DATA, rgm_tokenizer_train(&t, &path, 1, &options));
    CHECK_MESSAGE("smaller than required_chars");
    options.vocab_size = 60;
    options.coverage = NAN;
    CHECK_STATUS(RGM_ERR_ARG, rgm_tokenizer_train(&t, &path, 1, &options));
    options.coverage = 1;
    path = file("empty.txt", "\n\n", 2);
    CHECK_STATUS(RGM_ERR_DATA, rgm_tokenizer_train(&t, &path, 1, &options));
    CHECK_MESSAGE("the 1 files have no text");
    path = file("bad.txt", "good\nb\xff\n", 8);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_tokenizer_train(&t, &path, 1, &options));
    CHECK_MESSAGE("bad.txt:2:2: not UTF-8");
    path = "/no/such/file";
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_tokenizer_train(&t, &path, 1, &options));
}

static void train_both_kinds(rgm_status expected, const char *path, int64_t vocab_size)
{
    for (int kind = RGM_TOKENIZER_UNIGRAM; kind <= RGM_TOKENIZER_BPE; kind++) {
        rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
        rgm_tokenizer *t;
        rgm_corpus *corpus;

        options.type = (rgm_tokenizer_kind)kind;
        options.vocab_size = vocab_size;
        CHECK_OK(rgm_corpus_load(&corpus, path, path, NULL));
        CHECK_STATUS(expected, rgm_tokenizer_train_corpus(&t, corpus, &options));
        rgm_tokenizer_release(t);
        rgm_corpus_release(corpus);
        CHECK_STATUS(expected, rgm_tokenizer_train(&t, &path, 1, &options));
        rgm_tokenizer_release(t);
    }
}

/* Each of these made SentencePiece end the process, by exit or by a signal. */
static void text_that_the_trainer_would_not_survive_is_refused(void **state)
{
    static const char blank[] = "\n \t\n\u200b\u2029\x01\n\u3000\ufeff\u2581\n\n";
    rgm_text word = {0};
    const char *path;

    (void)state;
    train_both_kinds(RGM_ERR_DATA, file("blank.txt", blank, sizeof blank - 1), 8);
    CHECK_MESSAGE("the 1 files have no text");
    for (int64_t letters = 31999; letters <= 70000; letters += 33000) {
        word.size = 0;
        CHECK_OK(rgm_text_add(&word, "a b\n", 4));
        for (int64_t i = 0; i < letters; i++)
            CHECK_OK(rgm_text_add(&word, &"ab"[i % 2], 1));
        path = file("word.txt", word.data, word.size);
        train_both_kinds(letters < 32000 ? RGM_OK : RGM_ERR_DATA, path, 6);
    }
    CHECK_MESSAGE("word.txt:2:32000: a word of more than 32000 characters");
    word.size = 0;
    for (int i = 0; i < 1800; i++)
        CHECK_OK(rgm_text_add(&word, "\ufdfa", 3)); /* 18 characters and words each */
    train_both_kinds(RGM_ERR_DATA, file("long.txt", word.data, word.size), 40);
    rgm_text_clear(&word);
}

static void lines_that_say_nothing_change_nothing(void **state)
{
    const char *paths[2] = {training_file(), NULL};
    char *data = NULL;
    int64_t size, sizes[2];
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    rgm_text text = {0};
    rgm_tokenizer *t[2];

    (void)state;
    CHECK_OK(rgm_file_load(&data, &size, paths[0], 1 << 24));
    for (int64_t i = 0; i < size; i++)
        CHECK_OK(
            rgm_text_add(&text, data[i] == '\n' ? "\n\n  \n" : data + i, data[i] == '\n' ? 5 : 1));
    paths[1] = file("gaps.txt", text.data, text.size);
    options.vocab_size = 60;
    for (int i = 0; i < 2; i++)
        CHECK_OK(rgm_tokenizer_train(&t[i], &paths[i], 1, &options));
    CHECK(memcmp(rgm_tokenizer_model(t[0], &sizes[0]), rgm_tokenizer_model(t[1], &sizes[1]), 100) ==
          0);
    CHECK_INT(sizes[0], sizes[1]);
    for (int i = 0; i < 2; i++)
        rgm_tokenizer_release(t[i]);
    rgm_text_clear(&text);
    rgm_free(data);
}

/* ---- hostile models -------------------------------------------------------------------------- */

static void put_field(rgm_text *out, int number, const void *data, int64_t size)
{
    uint8_t head[8] = {(uint8_t)(number << 3 | 2), (uint8_t)(size % 128 + 128),
                       (uint8_t)(size / 128 % 128 + 128), (uint8_t)(size / 16384)};

    CHECK_OK(rgm_text_add(out, head, 4));
    CHECK_OK(rgm_text_add(out, data, size));
}

static void put_piece(rgm_text *out, const char *text, int64_t size, float score, uint8_t type)
{
    rgm_text piece = {0};

    put_field(&piece, 1, text, size);
    CHECK_OK(rgm_text_add(&piece, "\x15", 1));
    CHECK_OK(rgm_text_add(&piece, &score, 4));
    CHECK_OK(rgm_text_add(&piece, (uint8_t[]){0x18, type}, 2));
    put_field(out, 1, piece.data, piece.size);
    rgm_text_clear(&piece);
}

/** A model of <unk> and a piece; with a normalizer's table if one is given. */
static void put_model(rgm_text *out, const uint32_t *units, uint32_t unit_count, const char *text,
                      int64_t text_size)
{
    rgm_text table = {0}, normalizer = {0};
    uint32_t bytes = unit_count * 4;

    out->size = 0;
    put_piece(out, "<unk>", 5, 0, 2);
    put_piece(out, "a", 1, -1, 1);
    if (units == NULL)
        return;
    CHECK_OK(rgm_text_add(&table, &bytes, 4));
    CHECK_OK(rgm_text_add(&table, units, bytes));
    CHECK_OK(rgm_text_add(&table, text, text_size));
    put_field(&normalizer, 2, table.data, table.size);
    put_field(out, 3, normalizer.data, normalizer.size);
    rgm_text_clear(&table);
    rgm_text_clear(&normalizer);
}

#define REFUSED(model, part)                                                                       \
    do {                                                                                           \
        rgm_tokenizer *refused_;                                                                   \
        CHECK_STATUS(RGM_ERR_FORMAT,                                                               \
                     rgm_tokenizer_create(&refused_, (model).data, (model).size, "evil"));         \
        CHECK(refused_ == NULL);                                                                   \
        CHECK_MESSAGE("evil: ");                                                                   \
        CHECK_MESSAGE(part);                                                                       \
    } while (0)

static void hostile_pieces_are_refused(void **state)
{
    (void)state;
    rgm_text model = {0};
    rgm_tokenizer *t;
    char many[80];

    put_model(&model, NULL, 0, NULL, 0);
    CHECK_OK(rgm_tokenizer_create(&t, model.data, model.size, "fine"));
    CHECK_INT(2, rgm_tokenizer_size(t));
    rgm_tokenizer_release(t);
    put_piece(&model, "b\0c", 3, 0, 1);
    REFUSED(model, "a piece is not a short text in UTF-8");
    put_model(&model, NULL, 0, NULL, 0);
    put_piece(&model, "\xff", 1, 0, 1);
    REFUSED(model, "a piece is not a short text in UTF-8");
    put_model(&model, NULL, 0, NULL, 0);
    put_piece(&model, "b", 1, NAN, 1);
    REFUSED(model, "a piece's score is not a number");
    put_model(&model, NULL, 0, NULL, 0);
    put_piece(&model, "", 0, 0, 1);
    REFUSED(model, "a piece without text");
    put_model(&model, NULL, 0, NULL, 0);
    put_piece(&model, "a", 1, 0, 1);
    REFUSED(model, "a is already defined");
    put_model(&model, NULL, 0, NULL, 0);
    memset(many, 'x', sizeof many);
    for (int i = 1; i <= 70; i++)
        put_piece(&model, many, i, 0, 4);
    REFUSED(model, "user-defined pieces");
    model.size = 0;
    REFUSED(model, "it has no pieces");
    CHECK_OK(rgm_text_add(&model, "<!DOCTYPE html>", 15));
    REFUSED(model, "not a sound SentencePiece model");
    model.size = 0;
    put_piece(&model, "a", 1, 0, 1);
    REFUSED(model, "unk is not defined");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_tokenizer_create(&t, model.data, INT64_C(65) << 20, "huge"));
    CHECK_MESSAGE("huge: a tokenizer of 68157440 bytes");
    rgm_text_clear(&model);
}

static void hostile_normalizers_are_refused(void **state)
{
    (void)state;
    enum { RULE = 1 << 8, X = 256 ^ 'x' };
    uint32_t units[512];
    rgm_text model = {0};
    rgm_tokenizer *t;
    rgm_ids ids = {0};

    for (int i = 0; i < 512; i++)
        units[i] = 1u << 31; /* no child of anything */
    /* The root's children lie at 256 ^ byte; the rule for "x" has its place in unit 257. */
    units[0] = 256u << 10;
    units[X] = 'x' | RULE | (uint32_t)('x' ^ 1) << 10;
    units[257] = 1 | 1u << 31;
    put_model(&model, units, 512, "\0a\0", 3);
    CHECK_OK(rgm_tokenizer_create(&t, model.data, model.size, "fine"));
    CHECK_OK(rgm_tokenizer_encode(&ids, t, "x", 1));
    CHECK_INT(1, ids.items[ids.count - 1]); /* x became a */
    rgm_ids_clear(&ids);
    rgm_tokenizer_release(t);
    units[257] = 3 | 1u << 31;
    put_model(&model, units, 512, "\0a\0", 3);
    REFUSED(model, "a rule of its normalizer points nowhere");
    units[257] = 1 | 1u << 31;
    put_model(&model, units, 512, "\0a", 2);
    REFUSED(model, "a replacement of its normalizer has no end");
    put_model(&model, units, 512, "\0\xff\0", 3);
    REFUSED(model, "a replacement of its normalizer is not UTF-8");
    put_model(&model, units, 300, "\0a\0", 3);
    REFUSED(model, "trie points outside itself");
    units[X] = 'x' | (uint32_t)'x' << 10; /* its children are the root's */
    put_model(&model, units, 512, "\0a\0", 3);
    REFUSED(model, "runs in a circle");
    rgm_text_clear(&model);
}

/** A model with any byte changed is refused or works: it never crashes. */
static void damaged_models_fail_or_work(void **state)
{
    (void)state;
    rgm_tokenizer *sound = small(RGM_TOKENIZER_UNIGRAM, 0), *t;
    int64_t size, accepted = 0, tries = 0;
    const char *model = rgm_tokenizer_model(sound, &size);
    char *copy = malloc((size_t)size);
    rgm_ids ids = {0};
    rgm_text text = {0};

    sentence(&text, 5);
    memcpy(copy, model, (size_t)size);
    for (int64_t at = 0; at < size; at += at < 3000 ? 17 : 1511) {
        copy[at] = (char)(copy[at] ^ (1 << at % 8));
        if (rgm_tokenizer_create(&t, copy, size, "damaged") == RGM_OK) {
            ids.count = 0;
            accepted++;
            (void)rgm_tokenizer_encode(&ids, t, text.data, text.size);
            rgm_tokenizer_release(t);
        }
        copy[at] = model[at];
        tries++;
    }
    CHECK(accepted > 0 && accepted < tries);
    for (int64_t cut = 0; cut < size; cut += size / 97)
        if (rgm_tokenizer_create(&t, copy, cut, "cut") == RGM_OK)
            rgm_tokenizer_release(t); /* whole pieces are a model still */
    free(copy);
    rgm_ids_clear(&ids);
    rgm_text_clear(&text);
    rgm_tokenizer_release(sound);
}

/* ---- ids from a file ---- */

/** The pieces of a model but one, with other ids: end, unknown, the others backwards, a language,
 * and padding at the end unless the file has none. */
static const char *vocabulary_of(const rgm_tokenizer *t, int32_t without, bool padded)
{
    rgm_text text = {0};
    const char *path;
    int64_t number = 2;

    CHECK_OK(rgm_text_printf(&text, "{\"</s>\": 0, \"<unk>\": 1"));
    for (int32_t id = (int32_t)rgm_tokenizer_size(t) - 1; id > 2; id--)
        if (id != without) {
            CHECK_OK(rgm_text_printf(&text, ", "));
            CHECK_OK(rgm_json_print_text(&text, rgm_tokenizer_piece(t, id)));
            CHECK_OK(rgm_text_printf(&text, ": %lld", (long long)number++));
        }
    CHECK_OK(rgm_text_printf(&text, ", \">>fr<<\": %lld", (long long)number++));
    if (padded)
        CHECK_OK(rgm_text_printf(&text, ", \"<pad>\": %lld", (long long)number));
    CHECK_OK(rgm_text_printf(&text, "}"));
    path = file(padded ? "padded.json" : "plain.json", text.data, text.size);
    rgm_text_clear(&text);
    return path;
}

/** A model in a file, and it with a vocabulary. */
static rgm_tokenizer *with_vocabulary(rgm_tokenizer **model, rgm_tokenizer_kind kind,
                                      int32_t without, bool padded)
{
    rgm_tokenizer *t;
    char vocabulary[256];
    const void *bytes;
    int64_t size;

    *model = small(kind, 0);
    snprintf(vocabulary, sizeof vocabulary, "%s", vocabulary_of(*model, without, padded));
    bytes = rgm_tokenizer_model(*model, &size);
    CHECK_OK(rgm_tokenizer_load_with(&t, file("small.model", bytes, size), vocabulary));
    return t;
}

static void check_alike(const rgm_tokenizer *t, const rgm_tokenizer *model, double alpha,
                        int32_t without)
{
    rgm_ids ids = {0}, own = {0};
    rgm_text text = {0}, back = {0}, wanted = {0};

    for (uint64_t i = 0; i < 40; i++) {
        bool whole = true;
        sentence(&text, i);
        ids.count = own.count = back.size = wanted.size = 0;
        CHECK_OK(rgm_tokenizer_sample(&ids, t, text.data, text.size, alpha, i));
        CHECK_OK(rgm_tokenizer_sample(&own, model, text.data, text.size, alpha, i));
        CHECK_INT(own.count, ids.count);
        for (int64_t k = 0; k < own.count; k++) {
            const char *piece = rgm_tokenizer_piece(model, own.items[k]);
            CHECK_TEXT(own.items[k] == without ? "<unk>" : piece,
                       rgm_tokenizer_piece(t, ids.items[k]));
            CHECK_INT(ids.items[k], rgm_tokenizer_find(t, piece));
            whole &= own.items[k] != without;
        }
        CHECK_OK(rgm_tokenizer_decode(&back, t, ids.items, ids.count));
        CHECK_OK(rgm_tokenizer_decode(&wanted, model, own.items, own.count));
        CHECK(!whole || strcmp(back.data, wanted.data) == 0);
    }
    rgm_ids_clear(&ids);
    rgm_ids_clear(&own);
    rgm_text_clear(&text);
    rgm_text_clear(&back);
    rgm_text_clear(&wanted);
}

static void ids_can_come_from_a_file(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        bool padded = k % 2 == 0;
        int32_t without = k < 2 ? 0 : 7;
        rgm_tokenizer *model,
            *t = with_vocabulary(&model, k < 2 ? RGM_TOKENIZER_UNIGRAM : RGM_TOKENIZER_BPE, without,
                                 padded);
        CHECK_INT(without > 0 ? 60 : 61, rgm_tokenizer_size(t));
        CHECK_INT(0, rgm_tokenizer_pad_id(t));
        CHECK_INT(1, rgm_tokenizer_eos_id(t));
        CHECK_INT(2, rgm_tokenizer_unk_id(t));
        CHECK_INT(-1, rgm_tokenizer_bos_id(t));
        CHECK_TEXT("<pad>", rgm_tokenizer_piece(t, 0));
        CHECK_INT(padded ? rgm_tokenizer_size(t) - 1 : -1, rgm_tokenizer_number(t, 0));
        for (int32_t id = 1; id < rgm_tokenizer_size(t); id++) {
            CHECK_INT(id - 1, rgm_tokenizer_number(t, id));
            CHECK_INT(id, rgm_tokenizer_find(t, rgm_tokenizer_piece(t, id)));
        }
        CHECK_INT(4, rgm_tokenizer_number(model, 4));
        check_alike(t, model, 0, without);
        check_alike(t, model, 0.2, without);
        rgm_tokenizer_release(model);
        rgm_tokenizer_release(t);
    }
}

/** Padding in the middle of a file, a language in front of a text, pieces that the model lacks. */
static void a_vocabulary_has_pieces_of_its_own(void **state)
{
    static const char json[] = "{\"<unk>\":0,\"<pad>\":1,\"</s>\":2,\">>fr<<\":3,"
                               "\"\\u2581zz\":4,\"\\u4f60\":5}";
    static const int64_t numbers[] = {1, 0, 2, 3, 4, 5};
    rgm_tokenizer *model = small(RGM_TOKENIZER_UNIGRAM, 0), *t;
    char path[256];
    rgm_ids ids = {0};
    rgm_text text = {0};
    int64_t size;
    const void *bytes = rgm_tokenizer_model(model, &size);

    (void)state;
    snprintf(path, sizeof path, "%s", file("v.json", json, sizeof json - 1));
    CHECK_OK(rgm_tokenizer_load_with(&t, file("small.model", bytes, size), path));
    for (int32_t id = 0; id < 6; id++)
        CHECK_INT(numbers[id], rgm_tokenizer_number(t, id));
    CHECK_OK(rgm_tokenizer_encode(&ids, t, ">>fr<<\xe4\xbd\xa0", 9));
    CHECK_INT(3, ids.count); /* the model puts a space in front */
    CHECK_INT(3, ids.items[0]);
    CHECK_INT(1, ids.items[1]);
    CHECK_INT(5, ids.items[2]);
    ids.count = 0;
    CHECK_OK(rgm_tokenizer_encode(&ids, t, ">>de<<", 6));
    CHECK_INT(1, ids.count);
    CHECK_INT(1, ids.items[0]);
    CHECK_OK(rgm_tokenizer_decode(&text, t, (int32_t[]){0, 4, 5, 4, 2}, 5));
    CHECK_TEXT("zz\xe4\xbd\xa0 zz", text.data);
    bytes = rgm_tokenizer_vocabulary(t, &size);
    CHECK(size == sizeof json - 1 && memcmp(bytes, json, (size_t)size) == 0);
    CHECK(rgm_tokenizer_vocabulary(model, &size) == NULL);
    rgm_ids_clear(&ids);
    rgm_text_clear(&text);
    rgm_tokenizer_release(t);
    rgm_tokenizer_release(model);
}

static void a_vocabulary_can_be_yaml_or_the_model(void **state)
{
    static const char yaml[] = "---\n\"</s>\": 0\n<unk>: 1\n\"\\u2581ta\": 3\n# more\n'#': 2\r\n"
                               "'''': 4\n\"\\\"\": 6\nno: 7\n<pad>: 5";
    static const char *const pieces[] = {"<pad>",          "</s>", "<unk>", "#",
                                         "\xe2\x96\x81ta", "'",    "\"",    "no"};
    rgm_tokenizer *model = small(RGM_TOKENIZER_UNIGRAM, 0), *t;
    char path[256];
    int64_t size;
    const void *bytes = rgm_tokenizer_model(model, &size);

    (void)state;
    snprintf(path, sizeof path, "%s", file("vocab.yml", yaml, sizeof yaml - 1));
    CHECK_OK(rgm_tokenizer_load_with(&t, file("small.model", bytes, size), path));
    CHECK_INT(8, rgm_tokenizer_size(t));
    for (int32_t id = 0; id < 8; id++)
        CHECK_TEXT(pieces[id], rgm_tokenizer_piece(t, id));
    CHECK_INT(5, rgm_tokenizer_number(t, 0));
    rgm_tokenizer_release(t);
    snprintf(path, sizeof path, "%s", file("small.model", bytes, size));
    CHECK_OK(rgm_tokenizer_load_with(&t, path, path));
    CHECK_INT(60, rgm_tokenizer_size(t));
    for (int32_t id = 0; id < 60; id++)
        CHECK_TEXT(rgm_tokenizer_piece(model, id), rgm_tokenizer_piece(t, id));
    rgm_tokenizer_release(t);
    rgm_tokenizer_release(model);
}

static void two_models_share_the_ids_of_a_file(void **state)
{
    rgm_tokenizer *plain[2], *a, *b, *other;
    char marks[3][RGM_TOKENIZERS_MARK];

    (void)state;
    a = with_vocabulary(&plain[0], RGM_TOKENIZER_UNIGRAM, 0, true);
    b = with_vocabulary(&plain[1], RGM_TOKENIZER_UNIGRAM, 0, true);
    CHECK(rgm_tokenizers_share_ids(a, b) && rgm_tokenizers_are_same(a, b));
    CHECK(!rgm_tokenizers_share_ids(a, plain[0]) && rgm_tokenizers_share_ids(plain[0], plain[1]));
    CHECK(rgm_tokenizers_share_ids(NULL, NULL) && !rgm_tokenizers_share_ids(a, NULL));
    rgm_tokenizers_mark(marks[0], a, b);
    rgm_tokenizers_mark(marks[1], plain[0], plain[1]);
    CHECK(strcmp(marks[0], marks[1]) != 0);
    rgm_tokenizer_release(plain[1]);
    other = with_vocabulary(&plain[1], RGM_TOKENIZER_UNIGRAM, 9, true);
    CHECK(!rgm_tokenizers_share_ids(a, other));
    rgm_tokenizer_release(other);
    CHECK_OK(rgm_tokenizer_load_with(&other, "fuzz/corpus/tokenizer/gpt2.json", NULL));
    rgm_tokenizer_release(other);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                 rgm_tokenizer_load_with(&other, "fuzz/corpus/tokenizer/gpt2.json", "v.json"));
    CHECK(other == NULL);
    rgm_tokenizer_release(a);
    rgm_tokenizer_release(b);
    rgm_tokenizer_release(plain[0]);
    rgm_tokenizer_release(plain[1]);
}

static void hostile_vocabularies_are_refused(void **state)
{
    static const char *const files[][2] = {
        {"", "vocabulary.json:1:0"},
        {"[1]", "line 1: no piece and its id"},
        {"\n# nothing\n", "no vocabulary"},
        {"</s>: 0\n<unk>: x\n", "line 2: no piece and its id"},
        {"</s>: 0\n<unk>: 1\n\"a: 2\n", "line 3"},
        {"</s>: 0\n<unk>: 1\na: 1\n", "'<unk>' and 'a' have the same id, 1"},
        {"</s>: 0\n<unk>: 1\n<unk>: 2\n", "'<unk>' is there twice"},
        {"</s>: 0\n<unk>: 1\n<pad>: 99999999999999999999\n", "is none of 0 to 2"},
        {"</s>: 0\n<unk>: 2\n<pad>: 3\n", "the id of '<pad>' is none of 0 to 2"},
        {"</s>: 0\n<unk>: 1\n\"<pad>\" : 2\n", "written otherwise than \"<pad>\": 7"},
        {"</s>: 0\n<unk>: 1\n<pad>: +2\n", "written otherwise than \"<pad>\": 7"},
        {"{}", "no vocabulary"},
        {"{\"</s>\":0,\"<unk>\":1,\"a\":1}", "'<unk>' and 'a' have the same id, 1"},
        {"{\"</s>\":0,\"<unk>\":1,\"a\":3}", "'a' has the id 3, but 3 pieces have the ids 0 to 2"},
        {"{\"</s>\":0,\"<unk>\":1,\"a\":-1}", "'a' has the id -1"},
        {"{\"</s>\":0,\"<unk>\":1,\"a\":\"2\"}", "the id of 'a' is no whole number"},
        {"{\"</s>\":0,\"<unk>\":2,\"<pad>\":7}", "the id of '<pad>' is none of 0 to 2"},
        {"{\"</s>\":0,\"<unk>\":1,\"<pad>\":-7}", "'<pad>' has the id -7"},
        {"{\"</s>\":0,\"<unk>\":1,\"</s>\":2}", "duplicate object key"},
        {"{\"a\":0,\"<unk>\":1}", "needs the piece </s>"},
        {"{\"a\":0,\"</s>\":1}", "needs the piece <unk>"},
        {"{\"</s>\":0,\"<unk>\":1", "vocabulary.json:1:"},
    };
    rgm_tokenizer *model, *t = with_vocabulary(&model, RGM_TOKENIZER_UNIGRAM, 0, true);
    char paths[2][256];
    int64_t size;
    const void *bytes = rgm_tokenizer_model(model, &size);

    (void)state;
    rgm_tokenizer_release(t);
    snprintf(paths[0], sizeof paths[0], "%s", file("small.model", bytes, size));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(paths[1], sizeof paths[1], "%s",
                 file("vocabulary.json", files[i][0], (int64_t)strlen(files[i][0])));
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_tokenizer_load_with(&t, paths[0], paths[1]));
        CHECK_MESSAGE(files[i][1]);
        CHECK(t == NULL);
    }
    snprintf(paths[1], sizeof paths[1], "%s", vocabulary_of(model, 0, false));
    CHECK_EVERY_OOM(rgm_tokenizer_load_with(&t, paths[0], paths[1]), rgm_tokenizer_release(t));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_tokenizer_load_with(&t, paths[0], "/nowhere/v.json"));
    rgm_tokenizer_release(model);
}

TESTS(cmocka_unit_test(training_gives_the_ids_a_translation_model_wants),
      cmocka_unit_test(the_same_text_trains_the_same_model),
      cmocka_unit_test(ids_lead_back_to_the_text),
      cmocka_unit_test(training_tells_what_it_cannot_do),
      cmocka_unit_test(text_that_the_trainer_would_not_survive_is_refused),
      cmocka_unit_test(lines_that_say_nothing_change_nothing),
      cmocka_unit_test(hostile_pieces_are_refused),
      cmocka_unit_test(hostile_normalizers_are_refused),
      cmocka_unit_test(damaged_models_fail_or_work), cmocka_unit_test(ids_can_come_from_a_file),
      cmocka_unit_test(a_vocabulary_has_pieces_of_its_own),
      cmocka_unit_test(a_vocabulary_can_be_yaml_or_the_model),
      cmocka_unit_test(two_models_share_the_ids_of_a_file),
      cmocka_unit_test(hostile_vocabularies_are_refused))
