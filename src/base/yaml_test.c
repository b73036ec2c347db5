/*
 * YAML: places, what is refused and why, that hostile input costs linear time, and that set, merge
 * and print give documents that read back the same.
 */
#include "base_internal.h"
#include <check.h>

static rgm_yaml *parsed;

static rgm_status parse(const char *text)
{
    rgm_yaml_release(parsed);
    parsed = NULL;
    return rgm_yaml_parse(&parsed, text, (int64_t)strlen(text), "f.yaml");
}

static int drop(void **state)
{
    (void)state;
    rgm_yaml_release(parsed);
    parsed = NULL;
    return 0;
}

static rgm_yaml_node *at(const char *path)
{
    rgm_yaml_node *node = rgm_yaml_root(parsed);
    char key[64];

    while (node != NULL && *path != 0) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        path += n + (path[n] == '.');
        node = node->kind == RGM_YAML_LIST ? node->items[strtol(key, NULL, 10)]
                                           : rgm_yaml_find(node, key);
    }
    return node;
}

static void expect_print(const rgm_yaml *yaml, const char *expected)
{
    rgm_text text = {0};

    CHECK_OK(rgm_yaml_print(&text, rgm_yaml_root(yaml)));
    CHECK_TEXT(expected, text.data);
    rgm_text_clear(&text);
}

static void scalars_are_text_with_their_places(void **state)
{
    (void)state;
    CHECK_OK(parse("# head\n"
                   "trainer:\n"
                   "  epochs: 10\n"
                   "  rate: 1e-4   # comment\n"
                   "  name: \"no\"\n"
                   "  on: yes\n"
                   "layers: [16, é, 'x y']\n"
                   "nothing:\n"));
    CHECK_INT(RGM_YAML_MAP, rgm_yaml_root(parsed)->kind);
    CHECK_INT(3, rgm_yaml_root(parsed)->count);
    CHECK_TEXT("10", at("trainer.epochs")->text);
    CHECK_TEXT("epochs", at("trainer.epochs")->key);
    CHECK_INT(3, at("trainer.epochs")->line);
    CHECK_INT(11, at("trainer.epochs")->column);
    CHECK_TEXT("f.yaml", at("trainer.epochs")->origin);
    CHECK_TEXT("1e-4", at("trainer.rate")->text);
    CHECK(!at("trainer.rate")->quoted && at("trainer.name")->quoted);
    CHECK_TEXT("no", at("trainer.name")->text);
    CHECK_TEXT("yes", at("trainer.on")->text);
    CHECK_INT(RGM_YAML_LIST, at("layers")->kind);
    CHECK_TEXT("x y", at("layers.2")->text);
    CHECK_INT(17, at("layers.2")->column); /* columns count characters, not bytes */
    CHECK(at("layers.2")->key == NULL);
    CHECK_TEXT("", at("nothing")->text);
    CHECK(at("missing") == NULL && rgm_yaml_find(at("layers"), "0") == NULL);
    CHECK(rgm_yaml_find(NULL, "a") == NULL);
}

static void an_empty_document_is_an_empty_map(void **state)
{
    static const char *const texts[] = {"",      "\n\n",           "# nothing\n",
                                        "---\n", "--- # x\n...\n", "\xef\xbb\xbf"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_OK(parse(texts[i]));
        CHECK_INT(RGM_YAML_MAP, rgm_yaml_root(parsed)->kind);
        CHECK_INT(0, rgm_yaml_root(parsed)->count);
    }
}

static void windows_line_ends_and_a_byte_order_mark_are_read(void **state)
{
    (void)state;
    CHECK_OK(parse("\xef\xbb\xbf"
                   "a: 1\r\nb:\r\n  c: 2\r\n"));
    CHECK_TEXT("2", at("b.c")->text);
    CHECK_INT(3, at("b.c")->line);
}

static void refusals_say_what_and_where(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a: &x 1\n", "f.yaml:1:4: anchor '&x'"},
        {"a: 1\nb: *x\n", "f.yaml:2:4: alias '*x'"},
        {"a: !!int 3\n", "f.yaml:1:4: tag "},
        {"a: !x [1]\n", "f.yaml:1:4: tag '!x'"},
        {"é: ! 3\n", "f.yaml:1:4: tag '!'"},
        {"a: ! 'x'\n", "f.yaml:1:4: tag '!'"},
        {"%TAG ! tag:x:\n---\na: 1\n", "%TAG"},
        {"<<: *base\n", "alias"},
        {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: key 'a' is there twice, first at line 1"},
        {"{a: 1, \"a\": 3}\n", "f.yaml:1:8: key 'a' is there twice"},
        {"? [1]\n: 2\n", "f.yaml:1:3: a key must be text"},
        {"? {a: 1}\n: 2\n", "f.yaml:1:3: a key must be text"},
        {"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document"},
        {"a:\n\tb: 1\n", "f.yaml:2:1: a tab cannot indent"},
        {"a: [1\nb: 2\n", "f.yaml:2:"},
        {"a: \"x\n", "f.yaml:2:1: found unexpected end of stream"},
        {"a: 1\n  b: 2\n", "f.yaml:2:4: mapping values are not allowed in this context"},
        {"a: \"\\0\"\n", "f.yaml:1:4: text with a NUL"},
        {"a: 1\nb: \x01\n", "f.yaml:2:4: control character 0x01"},
        {"a: 1\nbé: \xff\n", "f.yaml:2:5: byte 0xff is not valid UTF-8"},
        {"\xff\xfe"
         "a: 1",
         "f.yaml:1:1: byte 0xff is not valid UTF-8"},
        {"a: \xed\xa0\x80\n", "f.yaml:1:4: byte 0xed is not valid UTF-8"},
        {"a: @x\n", "f.yaml:1:4: found character that cannot start any token"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(RGM_ERR_CONFIG, parse(cases[i].text));
        CHECK(parsed == NULL);
        CHECK_MESSAGE(cases[i].message);
    }
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_parse(&parsed, "a: 1\0b", 6, "f.yaml"));
    CHECK_MESSAGE("f.yaml:1:5: a NUL byte");
}

static char *repeated(const char *unit, int64_t count, const char *tail)
{
    size_t n = strlen(unit);
    char *text = malloc(n * (size_t)count + strlen(tail) + 1);

    for (int64_t i = 0; i < count; i++)
        memcpy(text + (size_t)i * n, unit, n);
    memcpy(text + n * (size_t)count, tail, strlen(tail) + 1);
    return text;
}

static void nesting_ends_at_64_levels(void **state)
{
    static const struct {
        const char *open, *close;
    } kinds[] = {{"[", "]"}, {"{a: ", "}"}, {"- ", ""}};

    (void)state;
    for (int k = 0; k < 3; k++)
        for (int depth = 64; depth <= 65; depth++) {
            char *tail = repeated(kinds[k].close, depth, ""), *text, *all;
            text = repeated(kinds[k].open, depth, "x");
            all = malloc(strlen(text) + strlen(tail) + 1);
            snprintf(all, strlen(text) + strlen(tail) + 1, "%s%s", text, tail);
            CHECK_STATUS(depth == 64 ? RGM_OK : RGM_ERR_CONFIG, parse(all));
            if (depth == 65)
                CHECK_MESSAGE("more than 64 levels");
            free(all);
            free(text);
            free(tail);
        }
}

/* libyaml alone takes minutes for the first of these. Nothing is timed here: a quadratic reader
 * would run into the test's time limit, which is the gate's. */
static void a_mebibyte_of_anything_is_answered(void **state)
{
    static const char *const units[] = {
        "[",
        "{",
        "- ",
        "-\n",
        "? ",
        "a: ",
        "[a,",
        "{a: ",
        "[\n",
        "\"",
        "'a' ",
        "a: b\n",
        "- a\n",
        "!a ",
        "&a ",
        "*a ",
        "|\n",
        ">\n a\n",
        "#\n",
        "%a\n",
        "---\n",
        "...\n",
        "\\",
        "é",
        "a\n",
        "- - ",
        "[]",
        "{}",
        "a,",
        "x:\n ",
        "- [[[[[[[]]]]]]]\n",
        "? a\n",
        ":\n",
        "`",
        "\t",
        "\n\n",
        "a ",
        "'",
        "- {a: b}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char *text = repeated(units[i], (1 << 20) / (int64_t)strlen(units[i]), "");
        rgm_status status = parse(text);
        CHECK(status == RGM_OK || status == RGM_ERR_CONFIG);
        free(text);
    }
}

static void size_and_number_of_values_are_limited(void **state)
{
    char *text = repeated("# comment\n", 104857, "     ");

    (void)state;
    CHECK_OK(parse(text)); /* 1048575 bytes */
    free(text);
    text = repeated("#", (1 << 20) + 1, "");
    CHECK_STATUS(RGM_ERR_CONFIG, parse(text));
    CHECK_MESSAGE("1048577 bytes");
    free(text);
    text = repeated("- a\n", 99999, "");
    CHECK_OK(parse(text));
    free(text);
    text = repeated("- a\n", 100000, "");
    CHECK_STATUS(RGM_ERR_CONFIG, parse(text));
    CHECK_MESSAGE("f.yaml:100000:3: more than 100000 values");
    free(text);
}

static void a_file_is_named_in_its_errors(void **state)
{
    const char *folder = check_folder();
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/e.yaml", folder);
    CHECK_OK(rgm_file_save(path, "a: 1\na: 2\n", 10));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_load(&parsed, path));
    CHECK_MESSAGE("e.yaml:2:1: key 'a'");
    CHECK_OK(rgm_file_save(path, "a: 1\n", 5));
    CHECK_OK(rgm_yaml_load(&parsed, path));
    CHECK_TEXT(path, at("a")->origin);
    snprintf(path, sizeof path, "%s/none.yaml", folder);
    rgm_yaml *none = NULL;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_yaml_load(&none, path));
    CHECK_MESSAGE("none.yaml");
    CHECK_OK(rgm_folder_remove(folder));
}

static void set_replaces_adds_and_makes_maps(void **state)
{
    (void)state;
    CHECK_OK(parse("trainer:\n  epochs: 10\nempty:\n"));
    CHECK_OK(rgm_yaml_set(parsed, "trainer.epochs", "20", "--set"));
    CHECK_OK(rgm_yaml_set(parsed, "model.hidden", "[16, 8]", "--set"));
    CHECK_OK(rgm_yaml_set(parsed, "empty.a", "x: 1", "--set"));
    CHECK_OK(rgm_yaml_set(parsed, "name", "", "--set"));
    CHECK_TEXT("20", at("trainer.epochs")->text);
    CHECK_TEXT("--set", at("trainer.epochs")->origin);
    CHECK_TEXT("f.yaml", at("trainer")->origin);
    CHECK_TEXT("8", at("model.hidden.1")->text);
    CHECK_TEXT("", at("name")->text);
    expect_print(parsed,
                 "trainer:\n  epochs: 20\nempty:\n  a:\n    x: 1\nmodel:\n  hidden: [16, 8]\n"
                 "name:\n");
}

static void a_set_that_fails_says_why_and_changes_nothing(void **state)
{
    char *deep = repeated("b.", 64, "b");

    (void)state;
    CHECK_OK(parse("a: 1\nl: [1, 2]\n"));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, "a.b", "1", "--set"));
    CHECK_MESSAGE("--set: cannot set 'a.b': 'a' is a value, not a map");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, "l.0", "1", "--set"));
    CHECK_MESSAGE("'l' is a list, not a map");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, "", "1", "--set"));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, "b..c", "1", "--set"));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, "b.", "1", "--set"));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, "b", "[1", "--set"));
    CHECK_MESSAGE("--set:2:1: did not find expected");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, deep + 2, "[1]", "--set"));
    CHECK_MESSAGE("more than 64 levels");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, deep, "1", "--set"));
    expect_print(parsed, "a: 1\nl: [1, 2]\n");
    CHECK_OK(rgm_yaml_set(parsed, deep + 2, "1", "--set")); /* 64 levels are possible */
    free(deep);
    CHECK_OK(parse("[1]"));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_yaml_set(parsed, "a", "1", "--set"));
}

static void merge_lays_maps_together_and_replaces_the_rest(void **state)
{
    rgm_yaml *over = NULL;
    static const char text[] = "a: {y: 3, z: [4]}\nl: [9]\nnew: {n: 1}\nb: {now: map}\n";

    (void)state;
    CHECK_OK(parse("a:\n  x: 1\n  y: 2\nl: [1, 2]\nb: 5\nkeep: yes\n"));
    CHECK_OK(rgm_yaml_parse(&over, text, sizeof text - 1, "over.yaml"));
    CHECK_OK(rgm_yaml_merge(parsed, over));
    rgm_yaml_release(over);
    expect_print(parsed, "a:\n  x: 1\n  y: 3\n  z: [4]\nl: [9]\nb:\n  now: map\nkeep: yes\n"
                         "new:\n  n: 1\n");
    CHECK_TEXT("over.yaml", at("a.y")->origin);
    CHECK_TEXT("f.yaml", at("a.x")->origin);
}

static void merging_large_maps_is_linear(void **state)
{
    rgm_text text = {0};
    rgm_yaml *over = NULL;

    (void)state;
    for (int i = 0; i < 30000; i++)
        CHECK_OK(rgm_text_printf(&text, "key%d: 1\n", i));
    CHECK_OK(rgm_yaml_parse(&over, text.data, text.size, "over"));
    CHECK_OK(rgm_yaml_parse(&parsed, text.data, text.size, "f"));
    CHECK_OK(rgm_yaml_merge(parsed, over));
    CHECK_INT(30000, rgm_yaml_root(parsed)->count);
    rgm_yaml_release(over);
    rgm_text_clear(&text);
}

static bool same(const rgm_yaml_node *a, const rgm_yaml_node *b)
{
    if (a->kind != b->kind || a->count != b->count || (a->key == NULL) != (b->key == NULL) ||
        (a->key != NULL && strcmp(a->key, b->key) != 0))
        return false;
    if (a->kind == RGM_YAML_SCALAR)
        return a->quoted == b->quoted && strcmp(a->text, b->text) == 0;
    for (int64_t i = 0; i < a->count; i++)
        if (!same(a->items[i], b->items[i]))
            return false;
    return true;
}

#define LONG_KEY                                                                                   \
    "? a very long key, a very long key, a very long key, a very long key, a very long key, a "    \
    "very long key, a very long key, a very long key\n: [1]\n"

static void what_is_printed_reads_back_the_same(void **state)
{
    static const char *const texts[] = {
        "",
        "x",
        "'x'",
        "[]",
        "{}",
        "\"\"",
        "- ",
        "- - - 1\n    - 2\n",
        "a: {b: {c: []}}\n",
        "a: \"\\\"\\\\\\n\\t\\x01\\u0085\\u2028\\u2029\\ufeff\\U0001F600 é\"\n",
        "a: |\n  x\n  y\n",
        "a: one\n  two\n\n  three\n",
        "a: [-, '-', \"- \", -a, ?x, ':x']\n",
        "a: 'x: y #z'\n",
        "- a: 1\n  b:\n  - 2\n  - [3, 4]\n- {}\n- []\n-\n",
        "\"a b\": 1\n'': 2\n\"x\\ny\": 3\n",
        LONG_KEY,
        "a: ---\n",
        "--- '---'\n",
        "a: 'true'\nb: true\nc: ~\nd: '~'\n",
        "- \"\"\n-\n- ''\n",
        "a: \"  lead and trail  \"\n",
        "a: '#x'\nb: a#b\n",
        "a: x:y\nb: 'x:'\n",
        "[a, [b, {c: d}]]",
        "- ? a\n  : b\n",
        "a: 100000000000000000000000000\n",
        "a: \"\xf0\x9f\x98\x80\"\n",
        ("long: [aaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccccccc, "
         "d]"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rgm_text text = {0}, second = {0};
        rgm_yaml *again = NULL;
        CHECK_OK(parse(texts[i]));
        CHECK_OK(rgm_yaml_print(&text, rgm_yaml_root(parsed)));
        CHECK_OK(rgm_yaml_parse(&again, text.data, text.size, "again"));
        if (!same(rgm_yaml_root(parsed), rgm_yaml_root(again)))
            fail_msg("case %zu changed:\n%s\nbecame\n%s", i, texts[i], text.data);
        CHECK_OK(rgm_yaml_print(&second, rgm_yaml_root(again)));
        CHECK_TEXT(text.data, second.data);
        rgm_yaml_release(again);
        rgm_text_clear(&text);
        rgm_text_clear(&second);
    }
}

static void the_print_is_for_people(void **state)
{
    (void)state;
    CHECK_OK(parse("model: {type: gcn, hidden: [16, 8], w: 'a b'}\n"
                   "tasks:\n- {name: a, x: {y: 1}}\n- {name: b}\n"));
    expect_print(parsed, "model:\n"
                         "  type: gcn\n"
                         "  hidden: [16, 8]\n"
                         "  w: \"a b\"\n"
                         "tasks:\n"
                         "  - name: a\n"
                         "    x:\n"
                         "      y: 1\n"
                         "  - name: b\n");
}

/* Of a text alone a comma is no end; in brackets it is. */
static void a_node_has_a_text_on_one_line(void **state)
{
    static const char *const rows[][3] = {{"3", NULL, "3"},
                                          {"a, b", NULL, "a, b"},
                                          {"{}", NULL, "{}"},
                                          {"[1, 'x, y', [2]]", NULL, "[1, \"x, y\", [2]]"},
                                          {"{type: onnx, of: [a]}", NULL, "{type: onnx, of: [a]}"},
                                          {"{type: onnx, of: [a]}", "of", "[a]"},
                                          {"{type: onnx, of: [a]}", "off", ""}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rgm_yaml_node *node;
        rgm_yaml *yaml;
        char text[64], *line;

        snprintf(text, sizeof text, "k: %s\n", rows[i][0]);
        CHECK_OK(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "f.yaml"));
        node = rgm_yaml_find(rgm_yaml_root(yaml), "k");
        CHECK_OK(
            rgm_yaml_flow_text(&line, rows[i][1] != NULL ? rgm_yaml_find(node, rows[i][1]) : node));
        CHECK_TEXT(rows[i][2], line);
        rgm_free(line);
        rgm_yaml_release(yaml);
    }
}

static rgm_status work_with_documents(void)
{
    static const char text[] = "a: {b: [1, 2, {c: d}]}\ne: 'f'\n", more[] = "a: {g: 1}\n";
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL, *over = NULL;
    rgm_text out = {0};
    char *line = NULL;

    RGM_GO(rgm_yaml_parse(&yaml, text, sizeof text - 1, "f.yaml"));
    RGM_GO(rgm_yaml_parse(&over, more, sizeof more - 1, "over.yaml"));
    RGM_GO(rgm_yaml_merge(yaml, over));
    RGM_GO(rgm_yaml_set(yaml, "x.y.z", "[1, 2]", "--set"));
    RGM_GO(rgm_yaml_print(&out, rgm_yaml_root(yaml)));
    RGM_GO(rgm_yaml_flow_text(&line, rgm_yaml_root(yaml)));
done:
    rgm_free(line);
    rgm_text_clear(&out);
    rgm_yaml_release(yaml);
    rgm_yaml_release(over);
    return status;
}

static void missing_memory_is_survived_everywhere(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(work_with_documents(), (void)0);
}

#define CASE(test) cmocka_unit_test_teardown(test, drop)

TESTS(CASE(scalars_are_text_with_their_places), CASE(an_empty_document_is_an_empty_map),
      CASE(windows_line_ends_and_a_byte_order_mark_are_read), CASE(refusals_say_what_and_where),
      CASE(nesting_ends_at_64_levels), CASE(a_mebibyte_of_anything_is_answered),
      CASE(size_and_number_of_values_are_limited), CASE(a_file_is_named_in_its_errors),
      CASE(set_replaces_adds_and_makes_maps), CASE(a_set_that_fails_says_why_and_changes_nothing),
      CASE(merge_lays_maps_together_and_replaces_the_rest), CASE(merging_large_maps_is_linear),
      CASE(what_is_printed_reads_back_the_same), CASE(the_print_is_for_people),
      CASE(a_node_has_a_text_on_one_line), CASE(missing_memory_is_survived_everywhere))
