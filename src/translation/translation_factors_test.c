/*
 * Source factors: words and what stands beside them, in the words themselves and in files of their
 * own; the pieces that get them; batches; and what is refused.
 */
#include "translation_check.h"
#include "translation_internal.h"

static const char *const cases[] = {"lower", "upper"}, *const kinds[] = {"N", "V", "\"x\\"};
static const char *const names[] = {"case", "kind"};
static const rgm_texts texts[] = {{cases, 2}, {kinds, 3}};
static const rgm_lists both = {names, texts, 2};

static rgm_str str(const char *text)
{
    return (rgm_str){text, (int64_t)strlen(text)};
}

/* ---- what there is ------------------------------------------------------------------------- */

static void values_have_numbers_over_all_factors(void **state)
{
    rgmi_factors f, other;
    rgm_lists one = {names, texts, 1};

    (void)state;
    CHECK_OK(rgmi_factors_open(&f, &both));
    CHECK_INT(2, f.count);
    CHECK_INT(5, f.values);
    CHECK_TEXT("\"case\": [\"lower\", \"upper\"]\n\"kind\": [\"N\", \"V\", \"\\\"x\\\\\"]\n",
               f.file.data);
    CHECK_OK(rgmi_factors_open(&other, &one));
    CHECK(!rgmi_same_factors(&f, &other) && rgmi_same_factors(&f, &f));
    rgmi_factors_clear(&other);
    rgmi_factors_clear(&f);
}

static void refuse(const char *name, const char *const *values, int64_t count, const char *why)
{
    rgm_texts list = {values, count};
    rgm_lists lists = {&name, &list, 1};

    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_factors_open(&(rgmi_factors){0}, &lists));
    CHECK_MESSAGE(why);
}

static void what_cannot_stand_behind_a_word_is_refused(void **state)
{
    static const char *const twice[] = {"N", "V", "N"}, *const bar[] = {"N", "a|b"},
                             *const space[] = {"a b"}, *const empty[] = {""};
    rgm_lists many = {names, texts, 17};

    (void)state;
    refuse("pos", twice, 3, "data.factors.pos has 'N' twice");
    refuse("pos", bar, 2, "data.factors.pos: 'a|b' is no value");
    refuse("pos", space, 1, "data.factors.pos: 'a b' is no value");
    refuse("pos", empty, 1, "data.factors.pos: '' is no value");
    refuse("pos", twice, 0, "data.factors.pos has 0 values");
    refuse("p s", twice, 2, "data.factors: 'p s' is no name");
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_factors_open(&(rgmi_factors){0}, &many));
    CHECK_MESSAGE("data.factors has 17 factors; at most 16 are possible");
}

/* ---- words --------------------------------------------------------------------------------- */

static void words_are_parted_from_what_stands_behind_them(void **state)
{
    static const int32_t want[] = {1, 3, 2, 4, 1, 5};
    rgm_text plain = {0};
    rgm_ids values = {0};
    rgmi_factors f;

    (void)state;
    CHECK_OK(rgmi_factors_open(&f, &both));
    CHECK_OK(
        rgmi_factors_split(&plain, &values, &f, str("Hund|lower|N  a|b|upper|V x|lower|\"x\\ ")));
    CHECK_TEXT("Hund  a|b x ", plain.data);
    CHECK_INT(6, values.count);
    CHECK(memcmp(values.items, want, sizeof want) == 0);
    CHECK_OK(rgmi_factors_split(&plain, &values, &f, str("")));
    CHECK(plain.size == 0 && values.count == 6);

    CHECK_STATUS(RGM_ERR_DATA, rgmi_factors_split(&plain, &values, &f, str("a|lower|N b|N")));
    CHECK_MESSAGE("word 2, 'b|N', lacks factors: data.factors has 2, so that a word is "
                  "word|case|kind");
    CHECK_STATUS(RGM_ERR_DATA, rgmi_factors_split(&plain, &values, &f, str("|lower|N")));
    CHECK_MESSAGE("word 1, '|lower|N', has factors alone");
    CHECK_STATUS(RGM_ERR_DATA, rgmi_factors_split(&plain, &values, &f, str("a|title|N")));
    CHECK_MESSAGE("word 1 has 'title', which is not in data.factors.case");
    CHECK_STATUS(RGM_ERR_DATA, rgmi_factors_split(&plain, &values, &f, str("a|lower|N|")));
    CHECK_MESSAGE("word 1 has '', which is not in data.factors.kind");
    CHECK_INT(6, values.count - 2); /* of the first word before the bad one */
    rgm_text_clear(&plain);
    rgm_ids_clear(&values);
    rgmi_factors_clear(&f);
}

static void columns_have_a_value_for_each_word(void **state)
{
    static const int32_t want[] = {2, 3, 1, 4};
    static const char *const paths[] = {"a.case", "a.kind"};
    rgm_str columns[] = {str("upper lower"), str(" N  V")};
    rgm_ids values = {0};
    rgmi_factors f;

    (void)state;
    CHECK_OK(rgmi_factors_open(&f, &both));
    CHECK_OK(rgmi_factors_beside(&values, &f, str("Ein Hund"), columns, paths, 7));
    CHECK_INT(4, values.count);
    CHECK(memcmp(values.items, want, sizeof want) == 0);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgmi_factors_beside(&values, &f, str("Ein Hund bellt"), columns, paths, 7));
    CHECK_MESSAGE("a.case:7: 2 factors, but the source's line has 3 words");
    columns[1] = str("N X");
    CHECK_STATUS(RGM_ERR_DATA,
                 rgmi_factors_beside(&values, &f, str("Ein Hund"), columns, paths, 7));
    CHECK_MESSAGE("a.kind:7: word 2 has 'X', which is not in data.factors.kind");
    CHECK_INT(4, values.count);
    rgm_ids_clear(&values);
    rgmi_factors_clear(&f);
}

/* ---- data ---------------------------------------------------------------------------------- */

static char folder[64];

static void write_file(const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
}

/* The same sentences in both forms; a word that begins with z is upper, and every second is V. */
static const char source[] = "ein Hund\nzwei Hunde ziehen zwei Schlitten\nzu\n";
static const char inside[] = "ein|lower|N Hund|lower|V\n"
                             "zwei|upper|N Hunde|lower|V ziehen|upper|N zwei|upper|V "
                             "Schlitten|lower|N\nzu|upper|N\n";
static const char target[] = "a dog\ntwo dogs pull two sleds\nto\n";

static rgm_translation_options of_files(const rgm_texts *files)
{
    rgm_translation_options o;

    rgm_translation_defaults(&o);
    o.path = folder;
    o.train = o.valid = *files;
    o.factors = both;
    o.train_tokenizer.vocab_size = 36;
    o.train_tokenizer.type = RGM_TOKENIZER_BPE;
    return o;
}

static void write_files(void)
{
    snprintf(folder, sizeof folder, "/tmp/regimen-factors-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    write_file("a.src", source);
    write_file("a.in", inside);
    write_file("a.tgt", target);
    write_file("a.case", "lower lower\nupper lower upper upper lower\nupper\n");
    write_file("a.kind", "N V\nN V N V N\nN\n");
}

/* Row r of a batch against the rule of the sentences above. */
static void check_row(const rgm_element *batch, int64_t r, const rgmi_translation_data *data)
{
    const rgm_tensor *ids = rgm_element_tensor(batch, RGMI_SOURCE);
    int64_t length = rgm_tensor_dim(ids, 1), words[64], n = 0;
    const int64_t *of = rgm_tensor_i64(rgm_element_tensor(batch, RGMI_BATCH_TENSORS));
    int32_t own[64];
    bool upper = false;

    CHECK(length <= 64);
    while (rgm_tensor_i64(ids)[r * length + n] != 1) { /* the end */
        own[n] = (int32_t)rgm_tensor_i64(ids)[r * length + n];
        n++;
    }
    rgm_tokenizer_words(words, data->source, own, n);
    for (int64_t i = 0; i < length; i++) {
        const int64_t *got = of + (r * length + i) * 2;
        if (i < n && (i == 0 || words[i] != words[i - 1])) {
            const char *piece = rgm_tokenizer_piece(data->source, own[i]) + strlen("\xe2\x96\x81");
            if (*piece == '\0') /* a space that is a piece of its own */
                piece = rgm_tokenizer_piece(data->source, own[i + 1]);
            upper = *piece == 'z';
        }
        CHECK_INT(i >= n ? 0 : upper ? 2 : 1, got[0]);
        CHECK_INT(i >= n ? 0 : 3 + words[i] % 2, got[1]);
    }
}

static void check_batches(rgm_translation_options *o, int part, int64_t rows)
{
    rgmi_translation_data data;
    rgm_dataset *batches;
    rgm_iterator *iterator;
    rgm_element *batch;
    int64_t seen = 0;

    CHECK_OK(rgmi_translation_data_open(&data, o, 1, 1));
    CHECK_OK(rgmi_translation_batches(&batches, &data, part));
    CHECK_OK(rgm_iterator_create(&iterator, batches, NULL));
    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        CHECK_INT(RGMI_BATCH_TENSORS + 1, rgm_element_count(batch));
        for (int64_t r = 0; r < rgm_tensor_dim(rgm_element_tensor(batch, 0), 0); r++, seen++)
            check_row(batch, r, &data);
        rgm_element_release(batch);
    }
    CHECK_INT(rows, seen);
    rgm_iterator_release(iterator);
    rgm_dataset_release(batches);
    rgmi_translation_data_clear(&data);
}

static const char *const in_words[] = {"a.in", "a.tgt"}, *const in_files[] = {"a.src", "a.tgt",
                                                                              "a.case", "a.kind"};

static void all_pieces_of_a_word_get_its_factors(void **state)
{
    rgm_translation_options o = of_files(&(rgm_texts){in_words, 2});

    (void)state;
    write_files();
    o = of_files(&(rgm_texts){in_words, 2});
    check_batches(&o, RGM_TRAIN, 3);
    o = of_files(&(rgm_texts){in_files, 4});
    check_batches(&o, RGM_TRAIN, 3);
    o.subword_alpha = 0.5; /* pieces that are drawn anew */
    check_batches(&o, RGM_TRAIN, 3);
    o.subword_alpha = 1; /* single characters */
    check_batches(&o, RGM_TRAIN, 3);
    o.subword_alpha = 0;
    o.max_length = 5; /* validation cuts a side and keeps its end, which has no factors */
    check_batches(&o, RGM_VALID, 3);
    CHECK_OK(rgm_folder_remove(folder));
}

/* The tokenizer takes a no-break space for a space, and drops one of no width. */
static void the_tokenizer_may_have_other_words(void **state)
{
    rgm_translation_options o = of_files(&(rgm_texts){in_words, 2});
    rgm_str text = str("zwei\xc2\xa0Hunde \xe2\x80\x8b ein");
    static const int32_t values[] = {1, 3, 2, 4, 1, 5};
    rgmi_translation_data data;
    int64_t words[32];
    int32_t of[64];
    rgm_ids ids = {0};

    (void)state;
    write_files();
    CHECK_OK(rgmi_translation_data_open(&data, &o, 1, 1));
    CHECK_OK(rgm_tokenizer_encode(&ids, data.source, text.data, text.size));
    rgm_tokenizer_words(words, data.source, ids.items, ids.count);
    CHECK_INT(2, words[ids.count - 1]); /* zwei, Hunde, ein */
    CHECK(ids.count < 30);
    ids.count++; /* whatever stands there is the end */
    CHECK_OK(RGM_RESERVE(ids.items, ids.capacity, ids.count));
    CHECK_OK(rgmi_factors_place(of, &data, text, values, ids.items, ids.count));
    for (int64_t i = 0; i < ids.count - 1; i++) {
        CHECK_INT(1, of[2 * i]);
        CHECK_INT(words[i] == 2 ? 5 : 3, of[2 * i + 1]);
    }
    CHECK(of[2 * ids.count - 2] == 0 && of[2 * ids.count - 1] == 0);
    rgm_ids_clear(&ids);
    rgmi_translation_data_clear(&data);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status read_training(const rgm_translation_options *o)
{
    rgmi_translation_data data;

    RGM_TRY(rgmi_translation_data_open(&data, o, 1, 1)); /* which trains a tokenizer of the text */
    rgmi_translation_data_clear(&data);
    return RGM_OK;
}

static void a_line_is_named_whose_factors_are_wrong(void **state)
{
    rgm_translation_options o;

    (void)state;
    write_files();
    write_file("a.case", "lower lower\nupper upper\nupper\n");
    o = of_files(&(rgm_texts){in_files, 4});
    CHECK_STATUS(RGM_ERR_DATA, read_training(&o));
    CHECK_MESSAGE("data.train: ");
    CHECK_MESSAGE("/a.case:2: 2 factors, but the source's line has 5 words");
    write_file("a.case", "lower lower\n");
    CHECK_STATUS(RGM_ERR_DATA, read_training(&o));
    CHECK_MESSAGE("/a.case has 1 lines, but ");
    o = of_files(&(rgm_texts){in_words, 2});
    write_file("a.in", "ein|lower|N Hund|lower|V\nzwei\nzu|upper|N\n");
    CHECK_STATUS(RGM_ERR_DATA, read_training(&o));
    CHECK_MESSAGE("/a.in:2: word 1, 'zwei', lacks factors");
    CHECK_OK(rgm_folder_remove(folder));
}

static void what_does_not_go_with_factors_is_told(void **state)
{
    rgm_translation_options o = of_files(&(rgm_texts){in_files, 3});
    rgm_seq2seq_options model;
    rgm_task task;

    (void)state;
    rgm_seq2seq_defaults(&model);
    snprintf(folder, sizeof folder, "/tmp");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_translation_create(&task, &o, &model, 3, 1));
    CHECK_MESSAGE("data.train: 3 files; with data.factors they are [source, target]");
    o = reversing();
    o.factors = both;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_translation_create(&task, &o, &model, 3, 1));
    CHECK_MESSAGE("data.reverse makes the pairs");
}

TESTS(cmocka_unit_test(values_have_numbers_over_all_factors),
      cmocka_unit_test(what_cannot_stand_behind_a_word_is_refused),
      cmocka_unit_test(words_are_parted_from_what_stands_behind_them),
      cmocka_unit_test(columns_have_a_value_for_each_word),
      cmocka_unit_test(all_pieces_of_a_word_get_its_factors),
      cmocka_unit_test(the_tokenizer_may_have_other_words),
      cmocka_unit_test(a_line_is_named_whose_factors_are_wrong),
      cmocka_unit_test(what_does_not_go_with_factors_is_told))
