/*
 * Tokens of documents, their files, and blocks: every token is a label once, segments are pieces of
 * one document, an epoch is drawn by its seed and goes on from any position, and no damaged file is
 * read.
 */
#include <check.h>

#include <unistd.h>

#include <regimen/text_tokens.h>

enum { DOCUMENTS = 400, VOCABULARY = 50000, BEGIN = 1, END = 2 };

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];

    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
    }
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Token i of all has the id 3 + i, so that a label says where it is from. */
static rgm_tokens *make_tokens(int64_t vocabulary, int64_t longest)
{
    rgm_tokens_info info = {.vocabulary = vocabulary, .begin_id = BEGIN, .end_id = END};
    rgm_tokens *tokens;
    int32_t ids[256], next = 3;

    CHECK_OK(rgm_tokens_create(&tokens, &info));
    for (int64_t d = 0; d < DOCUMENTS; d++) {
        rgm_rng rng = rgm_rng_stream(5, "document", (uint64_t)d);
        int64_t count = (int64_t)rgm_rng_below(&rng, 0, (uint64_t)longest);

        for (int64_t i = 0; i < count; i++)
            ids[i] = next + (int32_t)i;
        next += (int32_t)count + 1;
        CHECK_OK(rgm_tokens_add(tokens, ids, count, 3 * count));
    }
    return tokens;
}

static void check_same(const rgm_tokens *a, const rgm_tokens *b)
{
    rgm_tokens_info x, y;
    int64_t places[6];

    rgm_tokens_get_info(&x, a);
    rgm_tokens_get_info(&y, b);
    CHECK(memcmp(&x, &y, sizeof x) == 0);
    for (int64_t i = 0; i < x.tokens; i++)
        CHECK_INT(rgm_tokens_at(a, i), rgm_tokens_at(b, i));
    for (int64_t d = 0; d < x.documents; d++) {
        rgm_tokens_document(&places[0], &places[1], &places[2], a, d);
        rgm_tokens_document(&places[3], &places[4], &places[5], b, d);
        CHECK(memcmp(places, places + 3, 3 * sizeof *places) == 0);
    }
}

static void a_file_holds_what_was_in_memory(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        rgm_tokens *tokens = make_tokens(wide ? 1 << 20 : VOCABULARY, 30), *mapped;
        const char *path = path_of("a.tokens");

        CHECK_OK(rgm_tokens_save(tokens, path));
        CHECK(rgm_tokens_is_file(path));
        CHECK_OK(rgm_tokens_open(&mapped, path));
        check_same(tokens, mapped);
        CHECK_STATUS(RGM_ERR_ARG, rgm_tokens_add(mapped, NULL, 0, 0));
        rgm_tokens_release(mapped);
        rgm_tokens_release(tokens);
    }
    CHECK(!rgm_tokens_is_file("README.md") && !rgm_tokens_is_file("/nowhere"));
}

static void save_bytes(const char *path, const char *data, int64_t size)
{
    FILE *file = fopen(path, "wb"); /* without a sync: there are many */

    CHECK(file != NULL && fwrite(data, 1, (size_t)size, file) == (size_t)size);
    CHECK(fclose(file) == 0);
}

static void damaged_files_are_refused(void **state)
{
    rgm_tokens *tokens = make_tokens(VOCABULARY, 4), *mapped;
    const char *path = path_of("sound.tokens"), *bad = path_of("bad.tokens");
    char *data;
    int64_t size;

    (void)state;
    CHECK_OK(rgm_tokens_save(tokens, path));
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    for (int64_t i = 0; i < size; i += 13) {
        data[i] ^= 4;
        save_bytes(bad, data, size);
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_tokens_open(&mapped, bad));
        CHECK(mapped == NULL);
        CHECK_MESSAGE("bad.tokens: ");
        data[i] ^= 4;
    }
    save_bytes(bad, data, size - 8);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_tokens_open(&mapped, bad));
    CHECK_MESSAGE("bytes do not hold");
    save_bytes(bad, data, 20);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_tokens_open(&mapped, bad));
    CHECK_MESSAGE("no token file");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_tokens_open(&mapped, path_of("none")));
    rgm_free(data);
    rgm_tokens_release(tokens);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static rgm_dataset *make_blocks(const rgm_tokens *tokens, rgm_packing packing, bool training)
{
    rgm_token_block_options o = {32, 4, packing, training};
    rgm_dataset *blocks;

    CHECK_OK(rgm_token_blocks(&blocks, tokens, &o));
    return blocks;
}

static rgm_iterator *run(const rgm_dataset *dataset, uint64_t seed, uint64_t epoch)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_iterator *iterator;

    options.seed = seed;
    options.epoch = epoch;
    CHECK_OK(rgm_iterator_create(&iterator, dataset, &options));
    return iterator;
}

typedef struct epoch {
    int64_t labels, batches, places, segments;
    double bytes;
    uint64_t hash;
    int8_t *seen; /* [tokens] */
} epoch;

/* One place of a batch: `place` is the token that is its label. Returns the token's number. */
static int64_t check_place(const rgm_element *batch, int64_t i, bool stream,
                           const rgm_tokens *tokens, int64_t before)
{
    int64_t id = rgm_tensor_i64(rgm_element_tensor(batch, 0))[i],
            label = rgm_tensor_i64(rgm_element_tensor(batch, 1))[i],
            position = rgm_tensor_i64(rgm_element_tensor(batch, 2))[i], number = label - 3;
    rgm_tokens_info info;

    rgm_tokens_get_info(&info, tokens);
    if (label == END) /* an end does not say where it is from */
        number = position > 0 ? before + 1 : -1;
    else
        CHECK_INT(label, rgm_tokens_at(tokens, number));
    if (position > 0)
        CHECK(before < 0 || number == before + 1);
    if (position == 0 && number >= 0 && !(number == 0 && id == BEGIN)) {
        int32_t last = rgm_tokens_at(tokens, number - 1);
        CHECK_INT(last == END && !stream ? BEGIN : last, id);
    }
    return number;
}

static void check_batch(epoch *e, const rgm_element *batch, bool stream, const rgm_tokens *tokens)
{
    const int64_t *labels = rgm_tensor_i64(rgm_element_tensor(batch, 1)),
                  *positions = rgm_tensor_i64(rgm_element_tensor(batch, 2)),
                  *segments = rgm_tensor_i64(rgm_element_tensor(batch, 3));
    int64_t count = rgm_tensor_count(rgm_element_tensor(batch, 1)), before = -1;

    for (int64_t i = 0; i < count; i++) {
        bool first = i % 32 == 0;

        e->bytes += rgm_tensor_f32(rgm_element_tensor(batch, 4))[i];
        if (segments[i] == 0) {
            CHECK(labels[i] == 0 && positions[i] == 0 && (first || segments[i - 1] >= 0));
            continue;
        }
        if (positions[i] == 0)
            CHECK_INT(first ? 1 : segments[i - 1] + 1, segments[i]);
        else
            CHECK(!first && segments[i] == segments[i - 1] && positions[i] == positions[i - 1] + 1);
        e->segments += positions[i] == 0;
        before = check_place(batch, i, stream, tokens, positions[i] > 0 ? before : -1);
        if (before >= 0)
            CHECK_INT(0, e->seen[before]++);
        e->labels++;
    }
    e->places += count;
    e->batches++;
    e->hash = e->hash * 31 + rgm_hash64(labels, (size_t)count * sizeof *labels);
}

static epoch read_epoch(const rgm_dataset *blocks, const rgm_tokens *tokens, bool stream,
                        uint64_t seed, uint64_t number)
{
    rgm_iterator *iterator = run(blocks, seed, number);
    rgm_tokens_info info;
    rgm_element *batch;
    epoch e = {0};

    rgm_tokens_get_info(&info, tokens);
    e.seen = calloc((size_t)info.tokens, 1);
    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        check_batch(&e, batch, stream, tokens);
        rgm_element_release(batch);
    }
    rgm_iterator_release(iterator);
    free(e.seen);
    e.seen = NULL;
    return e;
}

static void every_token_is_a_label_once(void **state)
{
    rgm_tokens *tokens = make_tokens(VOCABULARY, 100);
    rgm_tokens_info info;

    (void)state;
    rgm_tokens_get_info(&info, tokens);
    for (int kind = 0; kind < 4; kind++) {
        bool stream = kind % 2 == 1, training = kind / 2 == 1;
        rgm_dataset *blocks =
            make_blocks(tokens, stream ? RGM_PACKING_STREAM : RGM_PACKING_DOCUMENTS, training);
        epoch first = read_epoch(blocks, tokens, stream, 1, 0),
              again = read_epoch(blocks, tokens, stream, 1, 0),
              second = read_epoch(blocks, tokens, stream, 1, 1),
              other = read_epoch(blocks, tokens, stream, 2, 0);
        rgm_token_block_figures f;

        CHECK_OK(rgm_token_blocks_figures(&f, blocks));
        CHECK_INT(f.labels, first.labels);
        CHECK_INT(info.tokens, f.labels + f.unseen);
        CHECK_INT(f.batches, first.batches);
        CHECK_INT(f.places, first.places);
        CHECK_INT(DOCUMENTS, f.documents);
        CHECK(first.hash == again.hash);
        CHECK(training == (first.hash != second.hash) && training == (first.hash != other.hash));
        CHECK_INT(first.labels, second.labels);
        if (f.unseen == 0)
            CHECK_CLOSE(first.bytes, (double)info.bytes, 1e-6, 0);
        CHECK(stream ? f.unseen <= 62 && f.cut == 0 : f.unseen == 0 && f.cut > 0);
        CHECK((double)f.labels > 0.97 * (double)f.places);
        rgm_dataset_release(blocks);
    }
    rgm_tokens_release(tokens);
}

/* Short documents: pieces are whole, and as few blocks as could be. */
static void packing_is_dense(void **state)
{
    rgm_tokens *tokens = make_tokens(VOCABULARY, 20);
    rgm_dataset *blocks = make_blocks(tokens, RGM_PACKING_DOCUMENTS, true);
    epoch e = read_epoch(blocks, tokens, false, 3, 0);
    rgm_token_block_figures f;

    (void)state;
    CHECK_OK(rgm_token_blocks_figures(&f, blocks));
    CHECK_INT(0, f.cut);
    CHECK_INT(DOCUMENTS, e.segments);
    CHECK(f.blocks <= (f.labels + 31) / 32 + 1);
    rgm_dataset_release(blocks);
    rgm_tokens_release(tokens);
}

static void an_epoch_goes_on_from_any_position(void **state)
{
    rgm_tokens *tokens = make_tokens(VOCABULARY, 100);

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        rgm_dataset *blocks = make_blocks(tokens, (rgm_packing)kind, true);
        rgm_iterator *whole = run(blocks, 7, 2), *part = run(blocks, 7, 2), *rest;
        rgm_element *a, *b;
        rgm_text position = {0};

        for (int i = 0; i < 9; i++) {
            CHECK_OK(rgm_iterator_next(&a, whole));
            rgm_element_release(a);
            if (i % 2 == 0) {
                CHECK_OK(rgm_iterator_next(&b, part));
                rgm_element_release(b);
            } else {
                CHECK_OK(rgm_iterator_skip(part));
            }
        }
        CHECK_OK(rgm_iterator_save(&position, part));
        CHECK(position.size < 256);
        rest = run(blocks, 7, 2);
        CHECK_OK(rgm_iterator_restore(rest, position.data, position.size));
        while (rgm_iterator_next(&a, whole) == RGM_OK) {
            CHECK_OK(rgm_iterator_next(&b, rest));
            for (int k = 0; k < 5; k++)
                CHECK(memcmp(rgm_tensor_data(rgm_element_tensor(a, k)),
                             rgm_tensor_data(rgm_element_tensor(b, k)),
                             rgm_tensor_bytes(rgm_element_tensor(a, k))) == 0);
            rgm_element_release(a);
            rgm_element_release(b);
        }
        CHECK_STATUS(RGM_END, rgm_iterator_next(&b, rest));
        rgm_text_clear(&position);
        rgm_iterator_release(whole);
        rgm_iterator_release(part);
        rgm_iterator_release(rest);
        rgm_dataset_release(blocks);
    }
    rgm_tokens_release(tokens);
}

static void few_tokens_are_a_block(void **state)
{
    rgm_tokens_info info = {.vocabulary = 100, .begin_id = BEGIN, .end_id = END};
    rgm_tokens *tokens;

    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        rgm_dataset *blocks;
        epoch e;

        CHECK_OK(rgm_tokens_create(&tokens, &info));
        CHECK_STATUS(RGM_ERR_DATA, rgm_token_blocks(&blocks, tokens, NULL));
        CHECK_OK(rgm_tokens_add(tokens, (const int32_t[]){3, 4}, 2, 2));
        blocks = make_blocks(tokens, (rgm_packing)(kind / 2), kind % 2);
        e = read_epoch(blocks, tokens, kind / 2, 1, 0);
        CHECK_INT(3, e.labels);
        CHECK_INT(1, e.batches);
        CHECK_CLOSE(e.bytes, 3, 1e-6, 0);
        rgm_dataset_release(blocks);
        rgm_tokens_release(tokens);
    }
    info.end_id = 100;
    CHECK_STATUS(RGM_ERR_ARG, rgm_tokens_create(&tokens, &info));
    CHECK_MESSAGE("end 100 is no id of 100 pieces");
}

/* ---- from text ------------------------------------------------------------------------------- */

static void text_becomes_documents(void **state)
{
    static const char text[] = "a man\nin a hat\n\n\nstands\n\nthere\n";
    static const struct {
        rgm_documents kind;
        int64_t documents, bytes;
    } cases[] = {{RGM_DOCUMENTS_LINES, 9, 35},
                 {RGM_DOCUMENTS_PARAGRAPHS, 4, 32},
                 {RGM_DOCUMENTS_FILES, 3, 36}};
    rgm_tokenizer *tokenizer;
    rgm_tokens *tokens, *threaded;
    rgm_tokens_info info;
    const char *paths[3];

    (void)state;
    paths[0] = path_of("text");
    paths[1] = path_of("empty");
    paths[2] = path_of("more");
    save_bytes(paths[0], text, sizeof text - 1);
    save_bytes(paths[1], "", 0);
    save_bytes(paths[2], "x\ny", 3);
    CHECK_OK(rgm_tokenizer_load(&tokenizer, "fuzz/corpus/tokenizer/gpt2.json"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(rgm_tokens_encode(&tokens, paths, 3, tokenizer, cases[i].kind, 1));
        CHECK_OK(rgm_tokens_encode(&threaded, paths, 3, tokenizer, cases[i].kind, 3));
        check_same(tokens, threaded);
        rgm_tokens_get_info(&info, tokens);
        CHECK_INT(cases[i].documents, info.documents);
        CHECK_INT(cases[i].bytes, info.bytes);
        CHECK_INT(322, info.vocabulary);
        CHECK_INT(info.begin_id, info.end_id); /* of GPT-2, which has no begin */
        CHECK(info.tokenizer != 0);
        rgm_tokens_release(tokens);
        rgm_tokens_release(threaded);
    }
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_tokens_encode(&tokens, &paths[1], 1, tokenizer, RGM_DOCUMENTS_LINES, 1));
    CHECK_MESSAGE("empty: no document");
    save_bytes(paths[1], "a\nb\xff\n", 5);
    CHECK_STATUS(RGM_ERR_FORMAT,
                 rgm_tokens_encode(&tokens, paths, 3, tokenizer, RGM_DOCUMENTS_LINES, 2));
    CHECK_MESSAGE("empty:2:2");
    rgm_tokenizer_release(tokenizer);
}

static void gives_memory_back_when_there_is_none(void **state)
{
    rgm_tokens *tokens = make_tokens(VOCABULARY, 10), *mapped = NULL;
    const char *path = path_of("sound.tokens");
    rgm_dataset *blocks = NULL;

    (void)state;
    CHECK_EVERY_OOM(rgm_tokens_save(tokens, path), (void)0);
    CHECK_EVERY_OOM(rgm_tokens_open(&mapped, path), rgm_tokens_release(mapped));
    CHECK_EVERY_OOM(rgm_token_blocks(&blocks, tokens, NULL), rgm_dataset_release(blocks));
    rgm_tokens_release(tokens);
}

TESTS(cmocka_unit_test(a_file_holds_what_was_in_memory),
      cmocka_unit_test(damaged_files_are_refused), cmocka_unit_test(every_token_is_a_label_once),
      cmocka_unit_test(packing_is_dense), cmocka_unit_test(an_epoch_goes_on_from_any_position),
      cmocka_unit_test(few_tokens_are_a_block), cmocka_unit_test(text_becomes_documents),
      cmocka_unit_test(gives_memory_back_when_there_is_none))
