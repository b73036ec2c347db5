/*
 * Protobuf text: what it reads, what it refuses and where, and that what is printed reads back.
 */
#include <check.h>

#include <regimen/data.h>

static rgm_pbtxt *parse(const char *text)
{
    rgm_pbtxt *document;
    CHECK_OK(rgm_pbtxt_parse(&document, text, (int64_t)strlen(text), "schema.pbtxt"));
    return document;
}

static const rgm_pbtxt_field *only(const rgm_pbtxt *document)
{
    return rgm_pbtxt_root(document)->first;
}

static void a_graph_schema_is_read_with_its_places(void **state)
{
    (void)state;
    rgm_pbtxt *d =
        parse("# a schema\n"
              "node_sets {\n"
              "  key: \"user\" value {\n"
              "    features < key: 'age' value: { dtype: DT_FLOAT shape { dim { size: -1 } } } >\n"
              "  }\n"
              "}\n"
              "node_sets { key: \"item\" }\n");
    const rgm_pbtxt_field *set = rgm_pbtxt_find(rgm_pbtxt_root(d), "node_sets"), *f;
    const char *text;
    int64_t number;

    CHECK_INT(2, set->line);
    CHECK_INT(1, set->column);
    CHECK_OK(rgm_pbtxt_string(&text, d, rgm_pbtxt_find(set, "key")));
    CHECK_TEXT("user", text);
    f = rgm_pbtxt_find(rgm_pbtxt_find(set, "value"), "features");
    f = rgm_pbtxt_find(f, "value");
    CHECK_OK(rgm_pbtxt_word(&text, d, rgm_pbtxt_find(f, "dtype")));
    CHECK_TEXT("DT_FLOAT", text);
    f = rgm_pbtxt_find(rgm_pbtxt_find(rgm_pbtxt_find(f, "shape"), "dim"), "size");
    CHECK_OK(rgm_pbtxt_int(&number, d, f));
    CHECK_INT(-1, number);
    CHECK_INT(4, f->line);
    CHECK_INT(66, f->column);
    set = rgm_pbtxt_find_next(set);
    CHECK_INT(7, set->line);
    CHECK(rgm_pbtxt_find_next(set) == NULL);
    CHECK(rgm_pbtxt_find(set, "value") == NULL);
    rgm_pbtxt_release(d);
}

static void strings_know_all_escapes_and_join(void **state)
{
    (void)state;
    static const char want[] = "a\n\t\"'\\?\a\b\f\v\r"
                               "\x01\xff"
                               "A7"
                               "\0"
                               "8"
                               "\xc3\xa4"
                               "\xf0\x9f\x98\x80"
                               "end";
    rgm_pbtxt *d = parse("s: \"a\\n\\t\\\"\\'\\\\\\?\\a\\b\\f\\v\\r\\001\\xfF\\x417\\0008\"\n"
                         "   '\\u00e4\\U0001F600' # and\n 'end'");
    const char *text;

    CHECK_INT(sizeof want - 1, only(d)->size);
    CHECK(memcmp(only(d)->text, want, sizeof want - 1) == 0);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_pbtxt_string(&text, d, only(d)));
    CHECK_MESSAGE("'s' has a zero byte inside");
    rgm_pbtxt_release(d);
}

static void numbers_of_every_form_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
        bool integer;
    } cases[] = {{"n: 12", 12, true},
                 {"n: -12", -12, true},
                 {"n: - 12", -12, true},
                 {"n: 0x1F", 31, true},
                 {"n: -0x10", -16, true},
                 {"n: 017", 15, true},
                 {"n: 0", 0, true},
                 {"n: 9223372036854775807", 9223372036854775807.0, true},
                 {"n: 18446744073709551615", 18446744073709551615.0, false},
                 {"n: 1.5", 1.5, false},
                 {"n: .5", 0.5, false},
                 {"n: 1e-4", 1e-4, false},
                 {"n: 1.5e+3f", 1500, false},
                 {"n: 2f", 2, false},
                 {"n: -inf", -INFINITY, false},
                 {"n: infinity", INFINITY, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_pbtxt *d = parse(cases[i].text);
        double number;
        int64_t integer;
        print_message("%s\n", cases[i].text);
        CHECK_OK(rgm_pbtxt_double(&number, d, only(d)));
        CHECK(number == cases[i].value);
        CHECK_STATUS(cases[i].integer ? RGM_OK : RGM_ERR_FORMAT,
                     rgm_pbtxt_int(&integer, d, only(d)));
        if (cases[i].integer)
            CHECK((double)integer == cases[i].value);
        rgm_pbtxt_release(d);
    }
}

static void lists_become_siblings(void **state)
{
    (void)state;
    rgm_pbtxt *d = parse("n: [1, 2, 3]; m [{a: 1}, <a: 2>], w: [A,B] e: [] x: 1");
    const rgm_pbtxt_field *f = rgm_pbtxt_find(rgm_pbtxt_root(d), "n");
    int64_t number;

    for (int64_t i = 1; i <= 3; i++, f = rgm_pbtxt_find_next(f)) {
        CHECK_OK(rgm_pbtxt_int(&number, d, f));
        CHECK_INT(i, number);
    }
    CHECK(f == NULL);
    f = rgm_pbtxt_find_next(rgm_pbtxt_find(rgm_pbtxt_root(d), "m"));
    CHECK_OK(rgm_pbtxt_int(&number, d, f->first));
    CHECK_INT(2, number);
    CHECK(rgm_pbtxt_find(rgm_pbtxt_root(d), "e") == NULL);
    CHECK(rgm_pbtxt_find(rgm_pbtxt_root(d), "x") != NULL);
    rgm_pbtxt_release(d);
}

static void extensions_and_numbered_fields_have_names_too(void **state)
{
    (void)state;
    rgm_pbtxt *d = parse("[type.googleapis.com/my.Type] { a: 1 } [a . b]: 2 5: 0x7");

    CHECK_TEXT("[type.googleapis.com/my.Type]", only(d)->name);
    CHECK(rgm_pbtxt_find(rgm_pbtxt_root(d), "[a.b]") != NULL);
    CHECK(rgm_pbtxt_find(rgm_pbtxt_root(d), "5") != NULL);
    rgm_pbtxt_release(d);
}

static void mistakes_are_told_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {{"a: 1\nb 2", "schema.pbtxt:2:3: expected ':' or a message, not '2'"},
                 {"a {\n  b: 1\n", "schema.pbtxt:3:1: expected a field's name, the text ends here"},
                 {"a { b: 1 >", "1:10: expected a field's name, not '>'"},
                 {"a: \"x", "1:6: a string has no end on its line"},
                 {"a: \"x\n\"", "1:6: a string has no end"},
                 {"a: \"\\q\"", "1:6: expected an escape that is known, not 'q'"},
                 {"a: \"\\400\"", "an octal escape over \\377"},
                 {"a: \"\\ud800\"", "not a Unicode character"},
                 {"a: \"\\xg\"", "expected hex digits"},
                 {"a: 08", "'08' is not a number"},
                 {"a: 1.2.3", "'1.2.3' is not a number"},
                 {"a: 1x", "'1x' is not a number"},
                 {"a: A.B", "neither a number nor a name"},
                 {"a: -x", "'-x' is not a number"},
                 {"a: [1 2]", "1:7: expected ',' or ']', not '2'"},
                 {"a: [1,]", "1:7: expected a value, not ']'"},
                 {"a: [[1]]", "1:5: expected a value, not '['"},
                 {"a:", "expected a value, the text ends here"},
                 {"}", "1:1: expected a field's name, not '}'"},
                 {"\xff", "expected a field's name, not byte 0xff"},
                 {"[]: 1", "an extension without a name"}};
    rgm_pbtxt *d;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s\n", cases[i].text);
        CHECK_STATUS(
            RGM_ERR_FORMAT,
            rgm_pbtxt_parse(&d, cases[i].text, (int64_t)strlen(cases[i].text), "schema.pbtxt"));
        CHECK(d == NULL);
        CHECK_MESSAGE("schema.pbtxt:");
        CHECK_MESSAGE(cases[i].message);
    }
}

static void nesting_ends_at_64_levels(void **state)
{
    (void)state;
    char text[400];
    rgm_pbtxt *d;

    for (int depth = 62; depth < 66; depth++) {
        text[0] = '\0';
        for (int i = 0; i < depth; i++)
            memcpy(text + 2 * i, "a{", 2);
        memset(text + 2 * depth, '}', (size_t)depth);
        CHECK_STATUS(depth < 64 ? RGM_OK : RGM_ERR_FORMAT,
                     rgm_pbtxt_parse(&d, text, 3 * depth, "deep"));
        rgm_pbtxt_release(d);
    }
    CHECK_MESSAGE("more than 64 levels");
}

static void a_field_of_another_kind_is_told_with_its_place(void **state)
{
    (void)state;
    rgm_pbtxt *d = parse("size: \"four\"\nshapee: 1\nm { }\nyes: true no: f maybe: 2");
    const rgm_pbtxt_field *root = rgm_pbtxt_root(d);
    static const char *const names[] = {"size", "shape", "m", "yes", "no", "maybe"};
    int64_t number;
    const char *text;
    bool flag;

    CHECK_STATUS(RGM_ERR_FORMAT, rgm_pbtxt_int(&number, d, rgm_pbtxt_find(root, "size")));
    CHECK_TEXT("schema.pbtxt:1:1: 'size' must be an integer, not a string four",
               rgm_error_message());
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_pbtxt_word(&text, d, rgm_pbtxt_find(root, "m")));
    CHECK_MESSAGE("schema.pbtxt:3:1: 'm' must be a name without quotes, not a message");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_pbtxt_message(d, rgm_pbtxt_find(root, "size")));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_pbtxt_check_names(d, root, names, 6));
    CHECK_MESSAGE("schema.pbtxt:2:1: unknown field 'shapee'; did you mean 'shape'?");
    CHECK_OK(rgm_pbtxt_bool(&flag, d, rgm_pbtxt_find(root, "yes")));
    CHECK(flag);
    CHECK_OK(rgm_pbtxt_bool(&flag, d, rgm_pbtxt_find(root, "no")));
    CHECK(!flag);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_pbtxt_bool(&flag, d, rgm_pbtxt_find(root, "maybe")));
    rgm_pbtxt_release(d);
}

static void what_a_program_builds_prints_and_reads_back(void **state)
{
    (void)state;
    rgm_pbtxt *d, *again;
    rgm_pbtxt_field *set, *value;
    rgm_text text = {0}, twice = {0};

    CHECK_OK(rgm_pbtxt_create(&d));
    CHECK_OK(rgm_pbtxt_add_message(&set, d, rgm_pbtxt_root(d), "node_sets"));
    CHECK_OK(rgm_pbtxt_add_string(d, set, "key", "us\"er\n\xc3\xa4\x01", 9));
    CHECK_OK(rgm_pbtxt_add_message(&value, d, set, "value"));
    CHECK_OK(rgm_pbtxt_add_int(d, value, "size", -1));
    CHECK_OK(rgm_pbtxt_add_word(d, value, "dtype", "DT_FLOAT"));
    CHECK_OK(rgm_pbtxt_print(&text, rgm_pbtxt_root(d)));
    CHECK_TEXT("node_sets {\n"
               "  key: \"us\\\"er\\n\\303\\244\\001\"\n"
               "  value {\n"
               "    size: -1\n"
               "    dtype: DT_FLOAT\n"
               "  }\n"
               "}\n",
               text.data);
    again = parse(text.data);
    CHECK_OK(rgm_pbtxt_print(&twice, rgm_pbtxt_root(again)));
    CHECK_TEXT(text.data, twice.data);
    rgm_pbtxt_release(d);
    rgm_pbtxt_release(again);
    rgm_text_clear(&text);
    rgm_text_clear(&twice);
}

static rgm_status parse_and_drop(const char *text)
{
    rgm_pbtxt *d;
    rgm_status status = rgm_pbtxt_parse(&d, text, (int64_t)strlen(text), "oom");
    rgm_pbtxt_release(d);
    return status;
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(parse_and_drop("a { b: \"x\" 'y' c: [1, 2] [e.f]: 1.5 }"), (void)0);
}

TESTS(cmocka_unit_test(a_graph_schema_is_read_with_its_places),
      cmocka_unit_test(strings_know_all_escapes_and_join),
      cmocka_unit_test(numbers_of_every_form_are_read), cmocka_unit_test(lists_become_siblings),
      cmocka_unit_test(extensions_and_numbered_fields_have_names_too),
      cmocka_unit_test(mistakes_are_told_with_their_place),
      cmocka_unit_test(nesting_ends_at_64_levels),
      cmocka_unit_test(a_field_of_another_kind_is_told_with_its_place),
      cmocka_unit_test(what_a_program_builds_prints_and_reads_back),
      cmocka_unit_test(failing_allocations_leak_nothing))
