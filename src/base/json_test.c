/*
 * JSON: what is printed, what is read, and what is refused with its place.
 */
#include <check.h>
#include <errno.h>
#include <jansson.h>

static void texts_are_safe_in_quotes(void **state)
{
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_json_print_text(&text, "q\"\\\n\xff\xc3\xa9\xed\xa0\x80"));
    CHECK_TEXT("\"q\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
               text.data);
    rgm_text_clear(&text);
}

static void numbers_are_short_and_keep_their_bits(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {1, "1.0"},
                 {-0.0, "-0.0"},
                 {1e300, "1e+300"},
                 {1.0 / 3, "0.3333333333333333"},
                 {NAN, "\"nan\""},
                 {INFINITY, "\"inf\""},
                 {-INFINITY, "\"-inf\""}};
    rgm_text text = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_json *json;
        double back;

        text.size = 0;
        CHECK_OK(rgm_text_printf(&text, "{\"a\": "));
        CHECK_OK(rgm_json_print_number(&text, cases[i].number));
        CHECK_TEXT(cases[i].text, text.data + 6);
        CHECK_OK(rgm_text_printf(&text, "}"));
        CHECK_OK(rgm_json_parse(&json, text.data, text.size, "it"));
        CHECK(rgm_json_number(&back, rgm_json_find(json, "a")));
        CHECK(isnan(back) ? isnan(cases[i].number)
                          : memcmp(&back, &cases[i].number, sizeof back) == 0);
        rgm_json_release(json);
    }
    rgm_text_clear(&text);
}

/* The shortest of 6 to 17 digits that reads back, as one finds it by trying all. */
static void numbers_have_the_fewest_digits_that_read_back(void **state)
{
    const rgm_rng rng = rgm_rng_stream(1, "numbers", 0);
    rgm_text text = {0};

    (void)state;
    for (uint64_t i = 0; i < 60000; i++) {
        double x =
            rgm_rng_f64(&rng, 3 * i) * pow(10, (double)rgm_rng_below(&rng, 3 * i + 1, 40) - 20);
        char expected[40];
        int places = (int)rgm_rng_below(&rng, 3 * i + 2, 20);

        if (i % 4 == 1)
            x = floor(x);
        else if (i % 4 == 2)
            x = ldexp(1, places * 20 - 200);
        else if (i % 4 == 3) {
            snprintf(expected, sizeof expected, "%.*g", places, x);
            x = strtod(expected, NULL);
        }
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(expected, sizeof expected, "%.*g", digits, x);
            if (strtod(expected, NULL) == x)
                break;
        }
        if (strpbrk(expected, ".e") == NULL)
            memcpy(expected + strlen(expected), ".0", 3);
        text.size = 0;
        CHECK_OK(rgm_json_print_number(&text, x));
        CHECK_TEXT(expected, text.data);
    }
    rgm_text_clear(&text);
}

static void values_come_by_their_kind(void **state)
{
    static const char text[] = "{\"b\": 9223372036854775807, \"a\": {\"c\": \"x\"}, \"d\": 1.5}";
    static const char *const keys[] = {"b", "a", "d"};
    rgm_json_entry entry = {0}, none = {0};
    rgm_json *json;
    int64_t whole = 7;
    double number = 7;

    (void)state;
    CHECK_OK(rgm_json_parse(&json, text, (int64_t)strlen(text), "it"));
    for (int i = 0; i < 3; i++) {
        CHECK(rgm_json_next(&entry, json));
        CHECK_TEXT(keys[i], entry.key);
    }
    CHECK(!rgm_json_next(&entry, json));
    CHECK(rgm_json_int(&whole, rgm_json_find(json, "b")) && whole == INT64_MAX);
    CHECK_TEXT("x", rgm_json_text(rgm_json_find(rgm_json_find(json, "a"), "c")));
    CHECK(rgm_json_number(&number, rgm_json_find(json, "d")) && number == 1.5);
    /* Another kind, or nothing at all. */
    CHECK(!rgm_json_int(&whole, rgm_json_find(json, "d")) && whole == INT64_MAX);
    CHECK(!rgm_json_number(&number, rgm_json_find(json, "a")) && number == 1.5);
    CHECK(rgm_json_text(rgm_json_find(json, "b")) == NULL);
    CHECK(rgm_json_find(rgm_json_find(json, "b"), "c") == NULL && rgm_json_find(NULL, "c") == NULL);
    CHECK(rgm_json_is_object(json) && !rgm_json_is_object(rgm_json_find(json, "b")));
    CHECK(!rgm_json_next(&none, rgm_json_find(json, "b")) && !rgm_json_next(&none, NULL));
    rgm_json_release(json);
    rgm_json_release(NULL);
}

static int64_t mallocs_left;

static void *fail_in_turn(size_t size)
{
    if (mallocs_left-- != 0)
        return malloc(size);
    errno = ENOMEM;
    return NULL;
}

/* jansson's own allocations; it took some for mistakes of the text, and gave no reason for others.
 */
static void every_failing_allocation_of_the_parser_is_told_as_such(void **state)
{
    static const char text[] = "{\"split\": \"train\", \"loss\": 0.5, \"of\": {\"a\": [1, 2]}}";
    rgm_status status = RGM_ERR_NOMEM;

    (void)state;
    json_set_alloc_funcs(fail_in_turn, free);
    for (int64_t at = 0; status == RGM_ERR_NOMEM; at++) {
        rgm_json *json;

        mallocs_left = at;
        status = rgm_json_parse(&json, text, (int64_t)strlen(text), "it");
        CHECK(status == RGM_OK || json == NULL);
        if (status != RGM_OK)
            CHECK_MESSAGE("out of memory parsing it");
        else
            CHECK(at > 10);
        rgm_json_release(json);
    }
    json_set_alloc_funcs(malloc, free);
    CHECK_OK(status);
}

static void what_is_no_json_is_refused_with_its_place(void **state)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "{\"a\": 1,}",
                                      "{\"a\": NaN}",
                                      "{} x",
                                      "{\"a\": 1, \"a\": 2}",
                                      "{\"a\": \"\xff\"}"};
    rgm_text deep = {0};
    rgm_json *json;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_json_parse(&json, bad[i], (int64_t)strlen(bad[i]), "it"));
        CHECK(json == NULL);
    }
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_json_parse(&json, "{\n  \"a\": x}", 12, "a.json"));
    CHECK_MESSAGE("a.json:2:8: ");
    for (int i = 0; i < 5000; i++)
        CHECK_OK(rgm_text_add(&deep, "[", 1));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_json_parse(&json, deep.data, deep.size, "it"));
    rgm_text_clear(&deep);
}

static void arrays_are_walked_by_place(void **state)
{
    static const char text[] = "{\"a\": [1, [2.5]], \"b\": []}";
    rgm_json *json;
    double number = 0;

    (void)state;
    CHECK_OK(rgm_json_parse(&json, text, (int64_t)strlen(text), "it"));
    CHECK_INT(2, rgm_json_count(rgm_json_find(json, "a")));
    CHECK_INT(0, rgm_json_count(rgm_json_find(json, "b")));
    CHECK(rgm_json_count(json) == -1 && rgm_json_count(NULL) == -1);
    CHECK(rgm_json_number(&number, rgm_json_at(rgm_json_at(rgm_json_find(json, "a"), 1), 0)));
    CHECK(number == 2.5);
    CHECK(rgm_json_at(rgm_json_find(json, "a"), 2) == NULL);
    CHECK(rgm_json_at(rgm_json_find(json, "a"), -1) == NULL && rgm_json_at(json, 0) == NULL);
    rgm_json_release(json);
}

/* ---- written value by value ---- */

static rgm_status write_all(rgm_text *out, rgm_json_layout inside)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(&w, "a\"b", "c\n"));
    RGM_TRY(rgm_json_write_text(&w, "none", NULL));
    RGM_TRY(rgm_json_open_list(&w, "empty", RGM_JSON_LINES));
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgm_json_open_list(&w, "list", inside));
    RGM_TRY(rgm_json_write_int(&w, NULL, -3));
    RGM_TRY(rgm_json_write_number(&w, NULL, 0.5));
    RGM_TRY(rgm_json_open_object(&w, NULL, inside));
    RGM_TRY(rgm_json_write_bool(&w, "yes", true));
    RGM_TRY(rgm_json_write_printed(&w, "given", "[1]"));
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgm_json_close(&w));
    return rgm_json_close(&w);
}

static void what_is_written_has_the_layout_asked_for(void **state)
{
    static const char *const lists[] = {
        "[-3,0.5,{\"yes\":true,\"given\":[1]}]", "[-3, 0.5, {\"yes\": true, \"given\": [1]}]",
        "[\n    -3,\n    0.5,\n    {\n      \"yes\": true,\n      \"given\": [1]\n    }\n  ]"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        rgm_text text = {0}, want = {0};
        rgm_json *json;
        CHECK_OK(write_all(&text, (rgm_json_layout)i));
        CHECK_OK(rgm_text_printf(&want,
                                 "{\n  \"a\\\"b\": \"c\\u000a\",\n  \"none\": null,\n"
                                 "  \"empty\": [],\n  \"list\": %s\n}",
                                 lists[i]));
        CHECK_TEXT(want.data, text.data);
        CHECK_OK(rgm_json_parse(&json, text.data, text.size, "it"));
        rgm_json_release(json);
        rgm_text_clear(&text);
        rgm_text_clear(&want);
    }
}

static void what_would_be_no_json_is_not_written(void **state)
{
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_json_close(&w));
    CHECK_STATUS(RGM_ERR_ARG, rgm_json_write_int(&w, "a", 1));
    CHECK_OK(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    CHECK_STATUS(RGM_ERR_ARG, rgm_json_write_int(&w, NULL, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_json_open_list(&w, NULL, RGM_JSON_SPACED));
    CHECK_OK(rgm_json_open_list(&w, "a", RGM_JSON_SPACED));
    for (int i = 2; i < RGM_JSON_WRITER_LEVELS; i++)
        CHECK_OK(rgm_json_open_list(&w, NULL, RGM_JSON_SPACED));
    CHECK_STATUS(RGM_ERR_ARG, rgm_json_open_list(&w, NULL, RGM_JSON_SPACED));
    rgm_text_clear(&text);
}

static rgm_status write_and_clear(void)
{
    rgm_text text = {0};
    rgm_status status = write_all(&text, RGM_JSON_LINES);

    rgm_text_clear(&text);
    return status;
}

static void every_failing_allocation_of_the_writer_is_told(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(write_and_clear(), (void)0);
}

TESTS(cmocka_unit_test(texts_are_safe_in_quotes),
      cmocka_unit_test(numbers_are_short_and_keep_their_bits),
      cmocka_unit_test(numbers_have_the_fewest_digits_that_read_back),
      cmocka_unit_test(values_come_by_their_kind), cmocka_unit_test(arrays_are_walked_by_place),
      cmocka_unit_test(every_failing_allocation_of_the_parser_is_told_as_such),
      cmocka_unit_test(what_is_no_json_is_refused_with_its_place),
      cmocka_unit_test(what_is_written_has_the_layout_asked_for),
      cmocka_unit_test(what_would_be_no_json_is_not_written),
      cmocka_unit_test(every_failing_allocation_of_the_writer_is_told))
