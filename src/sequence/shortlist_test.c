/*
 * Shortlists and alignments: what is learned of pairs whose translations are known, what is
 * refused, files with a damaged byte, failing allocations.
 */
#include <check.h>

#include <stdio.h>
#include <unistd.h>

#include <regimen/sequence.h>

#include "sync_check.h"

enum { WORDS = 40, PAIRS = 300, LENGTH = 6, FREQUENT = 3 };

typedef struct corpus {
    int32_t source[PAIRS][LENGTH], target[PAIRS][LENGTH + 2];
    rgm_sequence_pair pairs[PAIRS];
} corpus;

/* Word s is translated by WORDS - 1 - s; a 0 that says nothing stands in each target, and the end.
 */
static void corpus_make(corpus *c)
{
    uint64_t state = 7;

    for (int i = 0; i < PAIRS; i++) {
        for (int k = 0; k < LENGTH; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            c->source[i][k] = (int32_t)((state >> 33) % (WORDS - 4)) + 2;
            c->target[i][(k * 5) % LENGTH] = WORDS - 1 - c->source[i][k];
        }
        c->target[i][LENGTH] = 0;
        c->target[i][LENGTH + 1] = 1;
        c->pairs[i] = (rgm_sequence_pair){c->source[i], c->target[i], LENGTH, LENGTH + 2};
    }
}

static rgm_shortlist *learn(const corpus *c, int64_t first, int64_t best, const char *mark)
{
    rgm_shortlist_options o = {.first = first, .best = best, .mark = mark};
    rgm_shortlist *s;

    CHECK_OK(rgm_shortlist_learn(&s, c->pairs, PAIRS, WORDS, WORDS, &o));
    return s;
}

static bool has(const rgm_shortlist *s, int32_t source, int32_t target)
{
    const int32_t *tokens;
    int64_t count = rgm_shortlist_tokens(&tokens, s, source);

    for (int64_t i = 0; i < count; i++) {
        CHECK(i == 0 || tokens[i - 1] < tokens[i]);
        if (tokens[i] == target)
            return true;
    }
    return false;
}

static void translations_are_found(void **state)
{
    rgm_shortlist_figures f;
    rgm_shortlist *s;
    corpus c;

    (void)state;
    corpus_make(&c);
    s = learn(&c, 2, 1, "whose");
    f = rgm_shortlist_describe(s);
    CHECK_INT(WORDS, f.source_vocabulary);
    CHECK_INT(WORDS, f.target_vocabulary);
    CHECK_INT(2, f.first);
    CHECK_INT(1, f.best);
    CHECK_INT(PAIRS, f.pairs);
    CHECK_TEXT("whose", f.mark);
    CHECK_INT(WORDS - 4, f.entries); /* each word that occurs has one; 0 and 1 are the frequent */
    for (int32_t w = 2; w < WORDS - 2; w++)
        CHECK(has(s, w, WORDS - 1 - w));
    rgm_shortlist_release(s);
    s = learn(&c, 2, 1000, NULL);
    CHECK(rgm_shortlist_describe(s).entries > 10 * WORDS);
    rgm_shortlist_release(s);
    s = learn(&c, 1000, 5, NULL); /* all are frequent */
    CHECK_INT(WORDS, rgm_shortlist_describe(s).first);
    CHECK_INT(0, rgm_shortlist_describe(s).entries);
    rgm_shortlist_release(s);
}

/* A word that no pair has is its own translation; a copy counts as none of the best. */
static void copies_may_stand_in_translations(void **state)
{
    rgm_shortlist_options o = {.first = 2, .best = 1};
    int32_t copies[WORDS];
    rgm_shortlist *s;
    corpus c;

    (void)state;
    corpus_make(&c);
    for (int32_t w = 0; w < WORDS; w++)
        copies[w] = w % 3 == 0 ? -1 : w;
    copies[4] = WORDS - 1 - 4; /* its best already */
    copies[5] = 0;             /* one of the frequent */
    o.copies = copies;
    CHECK_OK(rgm_shortlist_learn(&s, c.pairs, PAIRS, WORDS, WORDS, &o));
    for (int32_t w = 2; w < WORDS; w++) {
        CHECK_INT(w % 3 != 0 && w != 4 && w != 5, has(s, w, w));
        CHECK(w >= WORDS - 2 || has(s, w, WORDS - 1 - w)); /* the last two stand in no pair */
    }
    rgm_shortlist_release(s);
    copies[7] = WORDS;
    CHECK_STATUS(RGM_ERR_ARG, rgm_shortlist_learn(&s, c.pairs, PAIRS, WORDS, WORDS, &o));
    CHECK_MESSAGE("the copy of source token 7 is 40, but ids are 0..39");
}

static void mistakes_are_named(void **state)
{
    rgm_shortlist_options o = RGM_SHORTLIST_OPTIONS_INIT;
    rgm_shortlist *s;
    corpus c;

    (void)state;
    corpus_make(&c);
    CHECK_STATUS(RGM_ERR_ARG, rgm_shortlist_learn(&s, c.pairs, 0, WORDS, WORDS, &o));
    CHECK_STATUS(RGM_ERR_DATA, rgm_shortlist_learn(&s, c.pairs, PAIRS, WORDS, 4, &o));
    CHECK_MESSAGE("pair 0: the target has the id");
    c.source[3][2] = WORDS;
    CHECK_STATUS(RGM_ERR_DATA, rgm_shortlist_learn(&s, c.pairs, PAIRS, WORDS, WORDS, &o));
    CHECK_MESSAGE("pair 3: the source has the id 40, but ids are 0..39");
    o.first = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgm_shortlist_learn(&s, c.pairs, PAIRS, WORDS, WORDS, &o));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_shortlist_load(&s, "/nonexistent/shortlist"));
}

/* ---- alignments ------------------------------------------------------------------------------ */

static void tokens_go_with_their_translations(void **state)
{
    static int32_t links[PAIRS * (LENGTH + 2)];
    corpus c;

    (void)state;
    corpus_make(&c);
    for (int both = 0; both <= 1; both++) {
        CHECK_OK((both ? rgm_pairs_align_both : rgm_pairs_align)(links, c.pairs, PAIRS, WORDS,
                                                                 WORDS, 0));
        for (int i = 0; i < PAIRS; i++)
            for (int j = 0; j < LENGTH; j++) {
                int32_t from = links[i * (LENGTH + 2) + j];
                CHECK(both ? from >= -1
                           : from >= 0); /* one of two that are alike has no link back */
                CHECK(from < 0 || c.source[i][from] == WORDS - 1 - c.target[i][j]);
            }
    }
}

/* Of tokens that are alike the one at the like place: 5 6 5 7 and what translates them, in order.
 */
static void like_places_go_together(void **state)
{
    static const int32_t sources[3][4] = {{5, 6, 5, 7}, {6, 7, 6, 6}, {5, 7, 7, 5}};
    int32_t targets[3][4], links[12];
    rgm_sequence_pair pairs[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++)
            targets[i][k] = sources[i][k] + 3;
        pairs[i] = (rgm_sequence_pair){sources[i], targets[i], 4, 4};
    }
    CHECK_OK(rgm_pairs_align(links, pairs, 3, 12, 12, 4));
    for (int i = 0; i < 12; i++)
        CHECK_INT(i % 4, links[i]);
    CHECK_OK(rgm_pairs_align_both(links, pairs, 3, 12, 12, 4));
    for (int i = 0; i < 12; i++)
        CHECK_INT(i % 4, links[i]);
    CHECK_OK(rgm_pairs_align(links, pairs, 3, 12, 12, 0));
    CHECK_INT(0, links[2]); /* the first of both, wherever they stand */
    CHECK_STATUS(RGM_ERR_ARG, rgm_pairs_align(links, pairs, 3, 12, 12, -1));
    CHECK_MESSAGE("the diagonal of alignments is -1");
    CHECK_STATUS(RGM_ERR_ARG, rgm_pairs_align(links, pairs, 0, 12, 12, 4));
    CHECK_MESSAGE("alignments are learned from pairs");
    CHECK_STATUS(RGM_ERR_DATA, rgm_pairs_align(links, pairs, 3, 12, 9, 4));
    CHECK_EVERY_OOM(rgm_pairs_align_both(links, pairs, 3, 12, 12, 4), (void)0);
}

static char *own_path(char path[128])
{
    snprintf(path, 128, "%s/shortlist", check_folder());
    return path;
}

/* Its folder, too. */
static void remove_path(char *path)
{
    CHECK_INT(0, unlink(path));
    *strrchr(path, '/') = '\0';
    CHECK_INT(0, rmdir(path));
}

static void put(const char *path, const char *data, int64_t size)
{
    FILE *file = fopen(path, "wb");

    CHECK(file != NULL);
    CHECK_INT(size, fwrite(data, 1, (size_t)size, file));
    CHECK_INT(0, fclose(file));
}

/* Whatever byte is another one, nothing that was not saved is ever loaded. */
static void a_file_is_what_was_saved_or_refused(void **state)
{
    char room[128], *path = own_path(room), *data;
    rgm_shortlist *s, *loaded;
    int64_t size, refused = 0;
    corpus c;

    (void)state;
    corpus_make(&c);
    s = learn(&c, FREQUENT, 2, "of \"two\" tokenizers");
    synced_folders = 0;
    CHECK_OK(rgm_shortlist_save(path, s));
    CHECK_INT(1, synced_folders); /* its name, too, is there after a power cut */
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    CHECK_OK(rgm_shortlist_load(&loaded, path));
    CHECK_TEXT("of \"two\" tokenizers", rgm_shortlist_describe(loaded).mark);
    CHECK_INT(rgm_shortlist_describe(s).entries, rgm_shortlist_describe(loaded).entries);
    for (int32_t w = 0; w < WORDS; w++) {
        const int32_t *a, *b;
        int64_t count = rgm_shortlist_tokens(&a, s, w);
        CHECK_INT(count, rgm_shortlist_tokens(&b, loaded, w));
        CHECK(count == 0 || memcmp(a, b, (size_t)count * sizeof *a) == 0);
    }
    rgm_shortlist_release(loaded);
    for (int64_t i = 0; i<size; i += size> 1500 ? 3 : 1) {
        data[i] ^= 0x21;
        put(path, data, size);
        if (rgm_shortlist_load(&loaded, path) != RGM_OK)
            refused++;
        else /* padding of the header, say */
            CHECK_INT(rgm_shortlist_describe(s).entries, rgm_shortlist_describe(loaded).entries);
        if (i > 600) /* tensors */
            CHECK(loaded == NULL);
        rgm_shortlist_release(loaded);
        data[i] ^= 0x21;
    }
    CHECK(refused > 100);
    rgm_shortlist_release(s);
    rgm_free(data);
    remove_path(path);
}

static rgm_status learn_and_save(const corpus *c, const char *path)
{
    rgm_shortlist_options o = {.first = 2, .best = 3, .mark = "m"};
    rgm_shortlist *s = NULL, *loaded = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_shortlist_learn(&s, c->pairs, PAIRS, WORDS, WORDS, &o));
    RGM_GO(rgm_shortlist_save(path, s));
    RGM_GO(rgm_shortlist_load(&loaded, path));
done:
    rgm_shortlist_release(s);
    rgm_shortlist_release(loaded);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    char room[128], *path = own_path(room);
    corpus c;

    (void)state;
    corpus_make(&c);
    CHECK_EVERY_OOM(learn_and_save(&c, path), (void)0);
    remove_path(path);
}

static void tables_are_kept_by_rows_and_kernels_by_columns(void **state)
{
    rgm_tensor *x;

    (void)state;
    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){2, 3}));
    CHECK_INT(0, rgm_seq2seq_int8_axis("output/table", x));
    CHECK_INT(1, rgm_seq2seq_int8_axis("encoder/layer_0/ffn/inner/kernel", x));
    CHECK_INT(-1, rgm_seq2seq_int8_axis("encoder/positions", x));
    CHECK_INT(-1, rgm_seq2seq_int8_axis("encoder/relative/table", x));
    rgm_tensor_release(x);
    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 1, (int64_t[]){3}));
    CHECK_INT(-1, rgm_seq2seq_int8_axis("a/kernel", x));
    rgm_tensor_release(x);
}

TESTS(cmocka_unit_test(translations_are_found), cmocka_unit_test(mistakes_are_named),
      cmocka_unit_test(copies_may_stand_in_translations),
      cmocka_unit_test(tokens_go_with_their_translations),
      cmocka_unit_test(like_places_go_together),
      cmocka_unit_test(a_file_is_what_was_saved_or_refused),
      cmocka_unit_test(every_failing_allocation_is_survived),
      cmocka_unit_test(tables_are_kept_by_rows_and_kernels_by_columns))
