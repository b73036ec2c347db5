/*
 * tokenizer.json: ids and texts are those that Hugging Face's program gives
 * (tests/oracle/tokenizers_golden.json), and what is not known or not sound is refused.
 */
#include <check.h>

#include <regimen/text.h>

static const char *const names[] = {"gpt2", "roberta", "llama3", "qwen2", "llama2", "metaspace"};
enum { NAMES = sizeof names / sizeof *names };

static rgm_tokenizer *corpus(const char *name)
{
    char path[128];
    rgm_tokenizer *tokenizer;

    snprintf(path, sizeof path, "fuzz/corpus/tokenizer/%s.json", name);
    CHECK_OK(rgm_tokenizer_load(&tokenizer, path));
    return tokenizer;
}

static rgm_json *read_golden(void)
{
    rgm_json *golden;
    char *data;
    int64_t size;

    CHECK_OK(rgm_file_load(&data, &size, "tests/oracle/tokenizers_golden.json", 1 << 20));
    CHECK_OK(rgm_json_parse(&golden, data, size, "golden"));
    rgm_free(data);
    return golden;
}

static void check_case(const rgm_tokenizer *t, const char *name, const rgm_json *expected)
{
    const char *text = rgm_json_text(rgm_json_at(expected, 0)),
               *back = rgm_json_text(rgm_json_at(expected, 2));
    const rgm_json *ids = rgm_json_at(expected, 1);
    rgm_ids ours = {0};
    rgm_text decoded = {0};
    bool same;

    CHECK_OK(rgm_tokenizer_encode(&ours, t, text, (int64_t)strlen(text)));
    same = ours.count == rgm_json_count(ids);
    for (int64_t i = 0; i < ours.count && same; i++) {
        int64_t id = -1;
        same = rgm_json_int(&id, rgm_json_at(ids, i)) && id == ours.items[i];
    }
    if (!same)
        fail_msg("%s: other ids of '%s'", name, text);
    CHECK_OK(rgm_tokenizer_decode(&decoded, t, ours.items, ours.count));
    CHECK_TEXT(back, decoded.data != NULL ? decoded.data : "");
    rgm_ids_clear(&ours);
    rgm_text_clear(&decoded);
}

static void ids_and_texts_are_those_of_the_owner(void **state)
{
    rgm_json *golden = read_golden();

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        const rgm_json *cases = rgm_json_find(golden, names[i]);
        rgm_tokenizer *t = corpus(names[i]);

        CHECK(rgm_json_count(cases) > 35);
        for (int64_t k = 0; k < rgm_json_count(cases); k++)
            check_case(t, names[i], rgm_json_at(cases, k));
        rgm_tokenizer_release(t);
    }
    rgm_json_release(golden);
}

static void special_tokens_have_their_usual_names(void **state)
{
    rgm_tokenizer *t = corpus("roberta");

    (void)state;
    CHECK_INT(0, rgm_tokenizer_bos_id(t));
    CHECK_INT(1, rgm_tokenizer_pad_id(t));
    CHECK_INT(2, rgm_tokenizer_eos_id(t));
    CHECK_INT(-1, rgm_tokenizer_unk_id(t));
    CHECK_INT(-1, rgm_tokenizer_find(t, "no such piece"));
    CHECK_TEXT("</s>", rgm_tokenizer_piece(t, 2));
    CHECK(rgm_tokenizer_piece(t, 300) == NULL);
    rgm_tokenizer_release(t);
    t = corpus("gpt2");
    CHECK_INT(-1, rgm_tokenizer_bos_id(t));
    CHECK_INT(-1, rgm_tokenizer_pad_id(t));
    CHECK_INT(0, rgm_tokenizer_eos_id(t));
    CHECK_INT(322, rgm_tokenizer_size(t));
    rgm_tokenizer_release(t);
    t = corpus("llama2");
    CHECK_INT(0, rgm_tokenizer_unk_id(t));
    rgm_tokenizer_release(t);
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

/* A draw leaves out merges and never changes the text. */
static void drawn_segmentations_lead_back_to_the_text(void **state)
{
    static const char text[] = "Five people wearing winter jackets and helmets stand in the snow.";
    rgm_tokenizer *t = corpus("gpt2");
    rgm_ids usual = {0};
    bool differs = false;

    (void)state;
    CHECK_OK(rgm_tokenizer_encode(&usual, t, text, sizeof text - 1));
    check_words(t, &usual);
    for (uint64_t key = 0; key < 20; key++) {
        rgm_ids drawn = {0}, again = {0};
        rgm_text back = {0};

        CHECK_OK(rgm_tokenizer_sample(&drawn, t, text, sizeof text - 1, 0.3, key));
        CHECK_OK(rgm_tokenizer_sample(&again, t, text, sizeof text - 1, 0.3, key));
        CHECK_INT(drawn.count, again.count);
        CHECK(memcmp(drawn.items, again.items, (size_t)drawn.count * 4) == 0);
        CHECK(drawn.count >= usual.count);
        differs |= drawn.count > usual.count;
        CHECK_OK(rgm_tokenizer_decode(&back, t, drawn.items, drawn.count));
        CHECK_TEXT(text, back.data);
        rgm_ids_clear(&drawn);
        rgm_ids_clear(&again);
        rgm_text_clear(&back);
    }
    CHECK(differs);
    usual.count = 0;
    CHECK_OK(rgm_tokenizer_sample(&usual, t, text, sizeof text - 1, 1, 3));
    CHECK_INT(sizeof text - 1, usual.count);
    rgm_ids_clear(&usual);
    rgm_tokenizer_release(t);
}

/* One word of a megabyte takes n log n steps: n^2 would be minutes. */
static void a_word_may_be_long(void **state)
{
    enum { SIZE = 1 << 20 };
    rgm_tokenizer *t = corpus("llama3");
    rgm_ids ids = {0};
    rgm_text back = {0};
    char *text = malloc(SIZE);

    (void)state;
    for (int i = 0; i < SIZE; i++)
        text[i] = "int"[i % 3];
    CHECK_OK(rgm_tokenizer_encode(&ids, t, text, SIZE));
    CHECK(ids.count < SIZE / 2);
    CHECK_OK(rgm_tokenizer_decode(&back, t, ids.items, ids.count));
    CHECK(back.size == SIZE && memcmp(back.data, text, SIZE) == 0);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_tokenizer_encode(&ids, t, "ab\xff", 3));
    CHECK_MESSAGE("byte 3 (0xff) is not UTF-8");
    free(text);
    rgm_ids_clear(&ids);
    rgm_text_clear(&back);
    rgm_tokenizer_release(t);
}

/* Bytes that are no characters: one U+FFFD for the longest beginning of a character. */
static void bytes_without_characters_are_shown(void **state)
{
    rgm_tokenizer *t = corpus("gpt2");
    rgm_text back = {0};
    rgm_ids ids = {0};
    int32_t cut[5];

    (void)state;
    CHECK_OK(rgm_tokenizer_encode(&ids, t, "\xf0\x9f\x98\x80", 4)); /* one token a byte */
    CHECK_INT(4, ids.count);
    memcpy(cut, (int32_t[]){ids.items[0], ids.items[1], ids.items[2], ids.items[0], ids.items[0]},
           sizeof cut);
    CHECK_OK(rgm_tokenizer_decode(&back, t, cut, 5));
    CHECK_TEXT("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", back.data);
    rgm_text_clear(&back);
    rgm_ids_clear(&ids);
    rgm_tokenizer_release(t);
}

static void check_refused(rgm_status status, const char *json, const char *message)
{
    rgm_tokenizer *t;

    CHECK_STATUS(status, rgm_tokenizer_create(&t, json, (int64_t)strlen(json), "it"));
    CHECK(t == NULL);
    CHECK_MESSAGE("it:");
    CHECK_MESSAGE(message);
}

#define MODEL(vocabulary, merges, more)                                                            \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":" vocabulary ",\"merges\":" merges "}" more "}"
#define AB "{\"a\":0,\"b\":1,\"ab\":2}"

static void what_is_not_known_or_not_sound_is_refused(void **state)
{
    static const struct {
        rgm_status status;
        const char *json, *message;
    } cases[] = {
        {RGM_ERR_FORMAT, "{", "it:1:"},
        {RGM_ERR_FORMAT, "{\"a\":1}", "no tokenizer.json: it has no 'model'"},
        {RGM_ERR_UNSUPPORTED, "{\"model\":{\"type\":\"WordPiece\"}}", "model.type: 'WordPiece'"},
        {RGM_ERR_FORMAT, MODEL("{}", "[]", ""), "model.vocab has no tokens"},
        {RGM_ERR_FORMAT, MODEL("[]", "[]", ""), "model.vocab is no object"},
        {RGM_ERR_FORMAT, MODEL("{\"a\":-1}", "[]", ""), "no whole number from 0 on"},
        {RGM_ERR_FORMAT, MODEL("{\"a\":0,\"b\":0}", "[]", ""), "two tokens have the id 0"},
        {RGM_ERR_FORMAT, MODEL("{\"a\":1000000}", "[]", ""), "most ids below the largest"},
        {RGM_ERR_FORMAT, MODEL("{\"a\":99999999999}", "[]", ""), "an id above 2^31"},
        {RGM_ERR_FORMAT, MODEL("{\"\":0}", "[]", ""), "the token of id 0 has 0 bytes"},
        {RGM_ERR_FORMAT, MODEL(AB, "{}", ""), "model.merges is no list"},
        {RGM_ERR_FORMAT, MODEL(AB, "[\"ab\"]", ""), "model.merges[0] is no pair"},
        {RGM_ERR_FORMAT, MODEL(AB, "[[\"a\",\"b\"],[\"b\",\"a\"]]", ""), "model.merges[1]: "},
        {RGM_ERR_FORMAT, MODEL(AB, "[]", ",\"added_tokens\":[{\"id\":3}]"), "without a 'content'"},
        {RGM_ERR_UNSUPPORTED,
         MODEL(AB, "[]", ",\"added_tokens\":[{\"id\":3,\"content\":\"x\",\"single_word\":true}]"),
         "single_word"},
        {RGM_ERR_UNSUPPORTED, MODEL(AB, "[]", ",\"normalizer\":{\"type\":\"Nmt\"}"),
         "normalizer: 'Nmt'"},
        {RGM_ERR_UNSUPPORTED, MODEL(AB, "[]", ",\"decoder\":{\"type\":\"CTC\"}"), "decoder: 'CTC'"},
        {RGM_ERR_UNSUPPORTED, MODEL(AB, "[]", ",\"pre_tokenizer\":{\"type\":\"Digits\"}"),
         "pre_tokenizer: 'Digits'"},
        {RGM_ERR_UNSUPPORTED,
         MODEL(AB, "[]",
               ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"x\"},"
               "\"behavior\":\"Isolated\",\"invert\":false}"),
         "pre_tokenizer: Split: 'x'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(cases[i].status, cases[i].json, cases[i].message);
}

/* What Hugging Face's program leaves out without a word. */
static void a_character_without_a_token_is_an_error(void **state)
{
    static const char json[] = MODEL(AB, "[\"a b\"]", "");
    rgm_tokenizer *t;
    rgm_ids ids = {0};

    (void)state;
    CHECK_OK(rgm_tokenizer_create(&t, json, sizeof json - 1, "it"));
    CHECK_OK(rgm_tokenizer_encode(&ids, t, "abb", 3));
    CHECK_INT(2, ids.count);
    CHECK_INT(2, ids.items[0]);
    CHECK_INT(1, ids.items[1]);
    CHECK_STATUS(RGM_ERR_DATA, rgm_tokenizer_encode(&ids, t, "ac", 2));
    CHECK_MESSAGE("the character U+0063 has no token");
    rgm_ids_clear(&ids);
    rgm_tokenizer_release(t);
}

#define GROW   "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaa\"}"
#define GROW5  GROW "," GROW "," GROW "," GROW "," GROW
#define GROW15 GROW5 "," GROW5 "," GROW5

/* 8^15 = 3.5e13 bytes of one letter. */
static void a_text_that_steps_blow_up_is_refused(void **state)
{
    static const char encodes[] =
        MODEL(AB, "[]", ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" GROW15 "]}");
    static const char decodes[] =
        MODEL(AB, "[]", ",\"decoder\":{\"type\":\"Sequence\",\"decoders\":[" GROW15 "]}");
    static const char five[] =
        MODEL(AB, "[]", ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" GROW5 "]}");
    static const char added[] =
        MODEL(AB, "[]",
              ",\"added_tokens\":[{\"id\":0,\"content\":\"a\",\"normalized\":true}],"
              "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" GROW15 "]}");
    const int32_t ids[] = {0, 1};
    rgm_tokenizer *t;
    rgm_ids made = {0};
    rgm_text text = {0};

    (void)state;
    check_refused(RGM_ERR_DATA, added, "added_tokens: the tokenizer's normalizer makes more than");
    CHECK_OK(rgm_tokenizer_create(&t, encodes, sizeof encodes - 1, "it"));
    CHECK_STATUS(RGM_ERR_DATA, rgm_tokenizer_encode(&made, t, "ab", 2));
    CHECK_MESSAGE("the tokenizer's normalizer makes more than 65568 bytes of one text");
    CHECK_OK(rgm_tokenizer_encode(&made, t, "bb", 2));
    rgm_tokenizer_release(t);
    CHECK_OK(rgm_tokenizer_create(&t, five, sizeof five - 1, "it"));
    made.count = 0;
    CHECK_OK(rgm_tokenizer_encode(&made, t, "a", 1));
    CHECK_INT(32768, made.count);
    rgm_tokenizer_release(t);
    CHECK_OK(rgm_tokenizer_create(&t, decodes, sizeof decodes - 1, "it"));
    CHECK_STATUS(RGM_ERR_DATA, rgm_tokenizer_decode(&text, t, ids, 2));
    CHECK_MESSAGE("the tokenizer's decoder makes more than");
    rgm_tokenizer_release(t);
    rgm_text_clear(&text);
    rgm_ids_clear(&made);
}

/* What was appended before a failure is the caller's. */
static rgm_status encode(const rgm_tokenizer *t, const char *text)
{
    rgm_ids ids = {0};
    rgm_status status = rgm_tokenizer_encode(&ids, t, text, (int64_t)strlen(text));

    rgm_ids_clear(&ids);
    return status;
}

static rgm_status decode(const rgm_tokenizer *t)
{
    rgm_text text = {0};
    rgm_status status = rgm_tokenizer_decode(&text, t, (const int32_t[]){5, 6, 7}, 3);

    rgm_text_clear(&text);
    return status;
}

static void gives_memory_back_when_there_is_none(void **state)
{
    static const char *const files[] = {"gpt2", "metaspace"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        rgm_tokenizer *t = NULL, *sound = corpus(files[i]);
        int64_t size;
        const void *json = rgm_tokenizer_model(sound, &size);

        CHECK_EVERY_OOM(rgm_tokenizer_create(&t, json, size, "it"), rgm_tokenizer_release(t));
        CHECK_EVERY_OOM(encode(sound, "a man <mask> x"), (void)0);
        CHECK_EVERY_OOM(decode(sound), (void)0);
        rgm_tokenizer_release(sound);
    }
}

/* A file with any byte changed is refused or works: it never crashes. */
static void damaged_files_fail_or_work(void **state)
{
    int64_t accepted = 0, tries = 0;

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        rgm_tokenizer *sound = corpus(names[i]), *t;
        int64_t size;
        const char *json = rgm_tokenizer_model(sound, &size);
        char *copy = malloc((size_t)size);
        rgm_ids ids = {0};

        memcpy(copy, json, (size_t)size);
        for (int64_t at = 0; at < size; at += 7) {
            copy[at] = (char)(copy[at] ^ (1 << at % 7));
            if (rgm_tokenizer_create(&t, copy, size, "damaged") == RGM_OK) {
                ids.count = 0;
                accepted++;
                (void)rgm_tokenizer_encode(&ids, t, "A man <mask> 12", 15);
                rgm_tokenizer_release(t);
            }
            copy[at] = json[at];
            tries++;
        }
        free(copy);
        rgm_ids_clear(&ids);
        rgm_tokenizer_release(sound);
    }
    CHECK(accepted > 0 && accepted < tries);
}

TESTS(cmocka_unit_test(ids_and_texts_are_those_of_the_owner),
      cmocka_unit_test(special_tokens_have_their_usual_names),
      cmocka_unit_test(drawn_segmentations_lead_back_to_the_text),
      cmocka_unit_test(a_word_may_be_long), cmocka_unit_test(bytes_without_characters_are_shown),
      cmocka_unit_test(what_is_not_known_or_not_sound_is_refused),
      cmocka_unit_test(a_character_without_a_token_is_an_error),
      cmocka_unit_test(a_text_that_steps_blow_up_is_refused),
      cmocka_unit_test(gives_memory_back_when_there_is_none),
      cmocka_unit_test(damaged_files_fail_or_work))
