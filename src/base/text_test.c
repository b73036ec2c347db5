/*
 * Text, UTF-8, nearest names, the map and the clocks.
 */
#include <check.h>

static void copies_of_text_are_terminated(void **state)
{
    char *text = NULL;

    (void)state;
    CHECK_OK(rgm_strndup(&text, "abcdef", 3));
    CHECK_TEXT("abc", text);
    rgm_free(text);
    CHECK_OK(rgm_strdup(&text, ""));
    CHECK_TEXT("", text);
    rgm_free(text);
    CHECK_OK(rgm_strprintf(&text, "%s-%d", "step", 10));
    CHECK_TEXT("step-10", text);
    rgm_free(text);
    CHECK_EVERY_OOM(rgm_strdup(&text, "abc"), rgm_free(text));
    CHECK_EVERY_OOM(rgm_strprintf(&text, "%0500d", 1), rgm_free(text));
    rgm_memory_fail_at(0, false);
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_strprintf(&text, "%d", 1));
    rgm_memory_fail_at(-1, false);
    CHECK(text == NULL);
}

static rgm_status build_text(rgm_text *text)
{
    rgm_status status = RGM_OK;

    for (int i = 0; i < 200; i++)
        RGM_GO(rgm_text_printf(text, "%d,", i));
    return status;
done:
    rgm_text_clear(text);
    return status;
}

static void a_text_grows_and_is_always_terminated(void **state)
{
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_text_add(&text, NULL, 0));
    CHECK_TEXT("", text.data);
    CHECK_OK(rgm_text_add(&text, "a\0b", 3));
    CHECK_INT(3, text.size);
    CHECK_INT(0, text.data[3]);
    CHECK_OK(rgm_text_printf(&text, "%s", "xyz"));
    CHECK_TEXT("bxyz", text.data + 2);
    CHECK_STATUS(RGM_ERR_ARG, rgm_text_add(&text, "", -1));
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_text_add(&text, "", INT64_MAX));
    CHECK_INT(6, text.size);
    rgm_text_clear(&text);
    CHECK(text.data == NULL && text.size == 0);
    CHECK_EVERY_OOM(build_text(&text), rgm_text_clear(&text));
}

static void utf8_is_checked_to_the_letter_of_the_rfc(void **state)
{
    static const struct {
        const char *bytes;
        int64_t bad;
    } cases[] = {
        {"plain", -1},
        {"\xc3\xa9", -1},
        {"\xe2\x82\xac", -1},
        {"\xf0\x9f\x98\x80", -1},
        {"\xf4\x8f\xbf\xbf", -1},
        {"\xed\x9f\xbf", -1},
        {"a\xff", 1},
        {"a\x80", 1},
        {"\xc0\x80", 0}, /* overlong NUL */
        {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xed\xa0\x80", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"ab\xe2\x82", 2},
        {"ab\xe2\x82(", 2},
        {"\xc3", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_INT(cases[i].bad, rgm_utf8_check(cases[i].bytes, (int64_t)strlen(cases[i].bytes)));
    CHECK_INT(-1, rgm_utf8_check("a\0b", 3));
    CHECK_INT(-1, rgm_utf8_check(NULL, 0));
}

static void the_nearest_name_is_what_was_meant(void **state)
{
    static const char *const names[] = {"trainer.epochs", "trainer.steps", "learning_rate",
                                        "batch_size",     "seed",          "lr"};
    static const struct {
        const char *typed, *meant;
    } cases[] = {
        {"trian.epochs", "trainer.epochs"},
        {"trainer.epoch", "trainer.epochs"},
        {"learningrate", "learning_rate"},
        {"learning_raet", "learning_rate"},
        {"Batch_Size", "batch_size"},
        {"sede", "seed"},
        {"sed", "seed"},
        {"l", "lr"},
        {"seed", "seed"},
        {"optimizer", NULL},
        {"xy", NULL},
        {"", NULL},
        {"zzzzzzzzzzzzzzzzzzzzzzzzzzz", NULL},
    };
    char longer[300];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = rgm_nearest_name(cases[i].typed, names, 6);
        if (cases[i].meant == NULL)
            CHECK(found == NULL);
        else
            CHECK_TEXT(cases[i].meant, found);
    }
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    CHECK(rgm_nearest_name(longer, names, 6) == NULL);
    CHECK(rgm_nearest_name("seed", names, 0) == NULL);
}

static void a_hint_ends_the_message_about_a_name(void **state)
{
    static const char *const names[] = {"mean", "sum", "max"};
    const char *many[200];
    rgm_hint hint;

    (void)state;
    CHECK_TEXT("; did you mean 'mean'?", rgm_did_you_mean("meen", names, 3, NULL, NULL).text);
    CHECK_TEXT("; did you mean 'a.mean'?", rgm_did_you_mean("meen", names, 3, "a.", "not").text);
    CHECK_TEXT("", rgm_did_you_mean("zzzz", names, 3, "a.", NULL).text);
    CHECK_TEXT("", rgm_did_you_mean(NULL, names, 3, NULL, NULL).text);
    CHECK_TEXT("; there are mean, sum, max",
               rgm_did_you_mean("zzzz", names, 3, "a.", "there are ").text);
    CHECK_TEXT("; there are none", rgm_did_you_mean("mean", names, 0, NULL, "there are none").text);
    for (int i = 0; i < 200; i++)
        many[i] = "0123456789";
    hint = rgm_did_you_mean("zzzz", many, 200, NULL, "there are ");
    CHECK_INT(sizeof hint.text - 1, strlen(hint.text)); /* cut */
}

static rgm_status build_map(rgm_map **out)
{
    rgm_status status = RGM_OK;
    char key[32];
    static int values[1000];

    RGM_GO(rgm_map_create(out));
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key %d", i * 7919 % 1000);
        RGM_GO(rgm_map_set(*out, key, &values[i]));
        if (rgm_map_get(*out, key) != &values[i])
            return RGM_FAIL(RGM_ERR_DATA, "lost '%s'", key);
    }
    return status;
done:
    rgm_map_release(*out);
    *out = NULL;
    return status;
}

static void a_map_finds_by_key_and_keeps_the_order(void **state)
{
    rgm_map *map = NULL;
    char key[32];
    int one, two;

    (void)state;
    CHECK_OK(build_map(&map));
    CHECK_INT(1000, rgm_map_count(map));
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "key %d", i * 7919 % 1000);
        CHECK_TEXT(key, rgm_map_key(map, i));
        CHECK(rgm_map_get(map, key) == rgm_map_value(map, i));
    }
    CHECK(!rgm_map_has(map, "key 1000") && rgm_map_get(map, "") == NULL);
    CHECK_OK(rgm_map_set(map, "key 0", &one)); /* replaces in place */
    CHECK_INT(1000, rgm_map_count(map));
    CHECK(rgm_map_value(map, 0) == &one);
    CHECK_OK(rgm_map_set(map, "", NULL));
    CHECK(rgm_map_has(map, "") && rgm_map_get(map, "") == NULL);
    CHECK_OK(rgm_map_set(map, "", &two));
    CHECK(rgm_map_get(map, "") == &two);
    rgm_map_release(map);
    rgm_map_release(NULL);
    CHECK_EVERY_OOM(build_map(&map), rgm_map_release(map));
}

/* A map goes on where memory was short, and a value is replaced without any. */
static void a_map_takes_what_it_refused_before(void **state)
{
    rgm_map *map = NULL;
    char key[32];
    int one;

    (void)state;
    CHECK_OK(rgm_map_create(&map));
    for (int64_t at = 0, count = 0; count < 50; at++) {
        snprintf(key, sizeof key, "key %lld", (long long)count);
        rgm_memory_fail_at(at % 4, false);
        count += rgm_map_set(map, key, &one) == RGM_OK;
        rgm_memory_fail_at(0, true);
        for (int64_t i = 0; i < count; i++) {
            snprintf(key, sizeof key, "key %lld", (long long)i);
            CHECK_OK(rgm_map_set(map, key, &key));
        }
        rgm_memory_fail_at(-1, false);
        CHECK_INT(count, rgm_map_count(map));
    }
    rgm_map_release(map);
}

static void an_empty_map_answers(void **state)
{
    rgm_map *map = NULL;

    (void)state;
    CHECK_OK(rgm_map_create(&map));
    CHECK(!rgm_map_has(map, "a") && rgm_map_get(map, "a") == NULL);
    CHECK_INT(0, rgm_map_count(map));
    rgm_map_release(map);
}

static void text_for_people_shows_what_it_hides(void **state)
{
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_text_add_visible(&text, "a\tb\xff\xe2\x80\xae"
                                         "c\xc2\x9b\xc3\xa9"));
    CHECK_TEXT("a\\x09b\\xff\\u202ec\\u009b\xc3\xa9", text.data);
    text.size = 0;
    CHECK_OK(rgm_text_add_visible_lines(&text, "a\tb\n\x1b[2J\r\xd8\x9c\x7f\x07\xe2\x81\xa6"));
    CHECK_TEXT("a\tb\n\\x1b[2J\\x0d\\u061c\\x7f\\x07\\u2066", text.data);
    rgm_text_clear(&text);
}

static void clocks_go_forward(void **state)
{
    double a = rgm_now(), b = rgm_now();

    (void)state;
    CHECK(b >= a);
    CHECK(rgm_wall_time() > 1.6e9);
}

static void hashes_are_xxh3(void **state)
{
    (void)state;
    /* The empty input's value, from the xxHash specification's reference. */
    CHECK(rgm_hash64("", 0) == 0x2d06800538d394c2ull);
    CHECK(rgm_hash64("a", 1) != rgm_hash64("b", 1));
}

static void patterns_are_bounded(void **state)
{
    char longest[300];
    rgm_line_pattern *p;

    (void)state;
    CHECK_OK(rgm_line_pattern_create(&p, "^de[a-z]+ [0-9]+$|NaN", false));
    CHECK(rgm_line_pattern_fits(p, "device 7", 8));
    CHECK(!rgm_line_pattern_fits(p, "device 7 ", 9));
    CHECK(rgm_line_pattern_fits(p, "loss\0NaN", 8)); /* a zero is a space */
    CHECK(!rgm_line_pattern_fits(p, "NaN", 2));
    rgm_line_pattern_release(p);
    CHECK_OK(rgm_line_pattern_create(&p, "^nan$", true));
    CHECK(rgm_line_pattern_fits(p, "NaN", 3));
    rgm_line_pattern_release(p);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_line_pattern_create(&p, "(", false));
    CHECK_MESSAGE("'(' is no pattern (an extended regular expression)");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_line_pattern_create(&p, "(a)\\1", false));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_line_pattern_create(&p, "", false));
    memset(longest, 'a', sizeof longest);
    longest[257] = '\0';
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_line_pattern_create(&p, longest, false));
    longest[256] = '\0';
    CHECK_OK(rgm_line_pattern_create(&p, longest, false));
    rgm_line_pattern_release(p);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_line_pattern_create(&p, "((a{99}){99}){99}", false));
    CHECK_MESSAGE("counts in braces that come to more than 255 together");
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_line_pattern_create(&p, "(a{0,}){1,99999999999999999999}", false));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_line_pattern_create(&p, "(((((a+)+)+)+)+)+", false));
    CHECK_MESSAGE("a + behind more than 4 groups");
    CHECK_OK(rgm_line_pattern_create(&p, "^[0-9]{4}-[0-9]{2}-[0-9]{2} .{1,5}\\{300}(a+)+$", false));
    CHECK(rgm_line_pattern_fits(p, "2026-11-27 x{300}aa", 19));
    rgm_line_pattern_release(p);
    CHECK_OK(rgm_line_pattern_create(&p, "a\\\\1", false)); /* a backslash, and a 1 */
    CHECK(rgm_line_pattern_fits(p, "a\\1", 3));
    rgm_line_pattern_release(p);
    rgm_line_pattern_release(NULL);
}

TESTS(cmocka_unit_test(patterns_are_bounded), cmocka_unit_test(copies_of_text_are_terminated),
      cmocka_unit_test(a_text_grows_and_is_always_terminated),
      cmocka_unit_test(utf8_is_checked_to_the_letter_of_the_rfc),
      cmocka_unit_test(the_nearest_name_is_what_was_meant),
      cmocka_unit_test(text_for_people_shows_what_it_hides),
      cmocka_unit_test(a_hint_ends_the_message_about_a_name),
      cmocka_unit_test(a_map_finds_by_key_and_keeps_the_order),
      cmocka_unit_test(a_map_takes_what_it_refused_before), cmocka_unit_test(an_empty_map_answers),
      cmocka_unit_test(clocks_go_forward), cmocka_unit_test(hashes_are_xxh3))
