/*
 * Spaces: reading with every mistake told, order of drawing, conditions, constraints, points, and
 * names that would steer a terminal or end a string.
 */
#include "search_check.h"

static void read(rgm_space **space, const char *text)
{
    CHECK_OK(read_space(space, text));
}

/* Names in order of drawing, with blanks between. */
static void check_order(const char *expected, const char *text)
{
    rgm_space *space;
    rgm_text names = {0};

    read(&space, text);
    for (int64_t i = 0; i < rgm_space_count(space); i++) {
        CHECK_OK(rgm_text_printf(&names, "%s%s", i > 0 ? " " : "", rgm_space_at(space, i)->name));
        CHECK_INT(i, rgm_space_find(space, rgm_space_at(space, i)->name));
    }
    CHECK_TEXT(expected, names.data);
    rgm_text_clear(&names);
    rgm_space_release(space);
}

static void hyperparameters_are_ordered_by_bytes_level_by_level(void **state)
{
    rgm_space *space;

    (void)state;
    check_order("A a.b a.c.d a.c.e a-b b", "hyperparameters: {b: 1, a-b: 1, a: {c: {e: 1}, b: 1}, "
                                           "a.c.d: 1, A: 1}");
    /* What a condition names comes before what has it, and else nothing moves. */
    check_order("c a b d", "hyperparameters: {a: {type: const, val: 1, when: c == 1}, b: 1, c: 1, "
                           "d: 1}");
    check_order("c b a", "hyperparameters: {a: {type: const, val: 1, when: b == 1}, "
                         "b: {type: const, val: 1, when: c == 1 or c == 2}, c: 1}");
    read(&space, "{}");
    CHECK_INT(0, rgm_space_count(space));
    CHECK_INT(-1, rgm_space_find(space, "a"));
    rgm_space_release(space);
}

static void every_kind_is_read_as_written(void **state)
{
    rgm_space *space;
    const rgm_hyperparameter *h;

    (void)state;
    read(&space, "hyperparameters:\n"
                 "  a: {type: categorical, vals: [1, x y, [1, 2], {k: \"3\"}, null]}\n"
                 "  b: {type: int, minval: -3, maxval: 9007199254740992, count: 7}\n"
                 "  c: {type: double, minval: 1e-3, maxval: 2.5}\n"
                 "  d: {type: log, base: 2, minval: -10, maxval: -1}\n"
                 "  e: [1, 2]\n"
                 "  type: {type: const, val: gat}\n");
    h = rgm_space_at(space, 0);
    CHECK(h->kind == RGM_HYPER_CATEGORICAL && h->values.count == 5);
    CHECK_TEXT("x y", h->values.items[1]);
    CHECK_TEXT("[1, 2]", h->values.items[2]);
    CHECK_TEXT("{k: \"3\"}", h->values.items[3]);
    CHECK_TEXT("null", h->values.items[4]);
    h = rgm_space_at(space, 1);
    CHECK(h->kind == RGM_HYPER_INT && h->minval == -3 && h->maxval == 0x1p53 && h->count == 7);
    h = rgm_space_at(space, 2);
    CHECK(h->kind == RGM_HYPER_DOUBLE && h->minval == 1e-3 && h->maxval == 2.5 && h->count == 0);
    h = rgm_space_at(space, 3);
    CHECK(h->kind == RGM_HYPER_LOG && h->base == 2 && h->minval == -10 && h->maxval == -1);
    h = rgm_space_at(space, 4);
    CHECK(h->kind == RGM_HYPER_CONST && h->values.count == 1);
    CHECK_TEXT("[1, 2]", h->values.items[0]);
    CHECK_TEXT("gat", rgm_space_at(space, 5)->values.items[0]);
    rgm_space_release(space);
}

/* One mistake a row: where it is and what it says. */
static void every_mistake_is_told_with_its_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"hyperparameters: [1]", "e.yaml:1:18: hyperparameters is a map"},
        {"hyperparameters: {a: {type: categorical, vals: []}}",
         "e.yaml:1:48: 'a' must have at least one category"},
        {"hyperparameters: {a: {type: categorical}}", "'a' needs vals, a list"},
        {"hyperparameters: {a: {type: int, minval: 3, maxval: 3}}",
         "e.yaml:1:53: 'a': maxval must be > minval, but 3 is not > 3"},
        {"hyperparameters: {a: {type: int, minval: 3, maxval: 3.5}}", "should be a whole number"},
        {"hyperparameters: {a: {type: int, minval: 3}}", "'a' needs maxval"},
        {"hyperparameters: {a: {type: int, minval: 0, maxval: 9007199254740993}}",
         "at most 2^53 in size"},
        {"hyperparameters: {a: {type: double, minval: 0, maxval: 1, count: 0}}",
         "count is 0, but must be at least 1"},
        {"hyperparameters: {a: {type: double, minval: -1e308, maxval: 1e308}}",
         "leave the range of a double"},
        {"hyperparameters: {a: {type: log, base: 0, minval: 0, maxval: 1}}",
         "base is 0, but must be > 0"},
        {"hyperparameters: {a: {type: log, minval: 0, maxval: 1}}", "'a' needs base"},
        {"hyperparameters: {a: {type: log, base: 10, minval: 0, maxval: 1000}}",
         "leave the range of a double; minval and maxval are exponents"},
        {"hyperparameters: {a: {type: cat, vals: [1]}}",
         "e.yaml:1:29: 'a' has no type 'cat'; there are const, categorical"},
        {"hyperparameters: {a: {type: const, vals: [1]}}",
         "'a' of type const has no key 'vals'; did you mean 'val'?"},
        {"hyperparameters: {a: {type: const}}", "'a' needs val"},
        {"hyperparameters: {a: {}}", "the group 'a' is empty"},
        {"hyperparameters: {a: {typ: double, minval: 0, maxval: 1}}",
         "e.yaml:1:22: 'a' has keys of a hyperparameter, but no 'type': const, categorical, int"},
        {"hyperparameters: {a: {typ: const}}", "'a' has keys of a hyperparameter, but no 'type'"},
        {"hyperparameters: {a: {vals: [1, 2]}}", "'a' has keys of a hyperparameter"},
        {"hyperparameters: {a..b: 1}", "'a..b' is no name of a hyperparameter"},
        {"hyperparameters: {\"\": 1}", "'' is no name of a hyperparameter"},
        {"hyperparameters:\n  a: {b: 1}\n  a.b: 2", "'a.b' is there twice; the other is in line 2"},
        {"hyperparameters: {a: 1, a.b: 2}", "but 'a' (line 1) is a hyperparameter and no group"},
        {"hyperparameters: {a: {type: const, val: 1, when: [b]}}", "'a': when is a text"},
        {"hyperparameters: {a: {type: const, val: 1, when: rats == 2}, rates: 1}",
         "there is no key 'rats'; did you mean 'rates'?"},
        {"hyperparameters: {a: {type: const, val: 1, when: b}, b: 1}", "has no relation"},
        {"hyperparameters: {a: {type: const, val: 1, when: b == gta}, b: {type: categorical, vals: "
         "[gat, gcn]}}",
         "'b' never is 'gta'; did you mean 'gat'?"},
        {"hyperparameters: {a: {type: const, val: 1, when: a == 1}}",
         "the condition of 'a' leads back to 'a' in a circle"},
        {"hyperparameters: {a: {type: const, val: 1, when: b == 1}, b: {type: const, val: 1, when: "
         "c == 1}, c: {type: const, val: 1, when: a == 1}}",
         "leads back to 'a' in a circle"},
        {"hyperparameters: {a: 1}\nconstraints: a <= 2", "constraints is a list of texts"},
        {"hyperparameters: {a: 1}\nconstraints: [[1]]", "a constraint is a text"},
        {"hyperparameters: {a: 1}\nconstraints: [a <= bb]",
         "e.yaml:2:15: 'a <= bb': 'bb' is neither a hyperparameter nor a number"},
        {"hyperparameters: {a: 1}\nconstraints: [b <= 1]", "there is no key 'b'"},
        {"hyperparameters: {a: 1}\nconstraints: [1 <= a <= 2]", "has two relations"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_space *space;

        CHECK_STATUS(RGM_ERR_CONFIG, read_space(&space, cases[i].text));
        CHECK_MESSAGE(cases[i].message);
        CHECK(space == NULL);
    }
}

static int64_t count_lines(const char *text)
{
    int64_t lines = 1;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static void all_mistakes_are_told_at_once(void **state)
{
    rgm_space *space;
    rgm_text text = {0};

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG,
                 read_space(&space, "hyperparameters:\n"
                                    "  a: {type: int, minval: 3, maxval: 1, cuont: 2}\n"
                                    "  b: {type: categorical, vals: []}\n"
                                    "  c: {d: {type: flat}}\n"
                                    "constraints: [a < z]\n"));
    CHECK_INT(5, count_lines(rgm_error_message()));
    CHECK_MESSAGE("e.yaml:2:47: 'a' of type int has no key 'cuont'; did you mean 'count'?\n"
                  "e.yaml:2:37: 'a': maxval must be > minval, but 1 is not > 3\n"
                  "e.yaml:3:32: 'b' must have at least one category\n"
                  "e.yaml:4:17: 'c.d' has no type 'flat'; ");
    CHECK_MESSAGE("\ne.yaml:5:15: 'a < z': 'z' is neither a hyperparameter nor a number");
    /* More than there is room for are counted. */
    CHECK_OK(rgm_text_printf(&text, "hyperparameters:\n"));
    for (int i = 0; i < 1000; i++)
        CHECK_OK(rgm_text_printf(&text, "  a%d: {type: categorical, vals: []}\n", i));
    CHECK_STATUS(RGM_ERR_CONFIG, read_space(&space, text.data));
    CHECK_MESSAGE("e.yaml:2:33: 'a0' must have at least one category\n");
    CHECK(strlen(rgm_error_message()) < 1024);
    {
        int64_t told = count_lines(rgm_error_message()) - 1;
        char last[64];

        snprintf(last, sizeof last, "\n... and %lld more mistakes", (long long)(1000 - told));
        CHECK(told > 10);
        CHECK_MESSAGE(last);
    }
    rgm_text_clear(&text);
}

/* ---- draws --------------------------------------------------------------------------------- */

static void conditions_decide_what_is_there(void **state)
{
    rgm_space *space;
    rgm_hyper_value v[3];
    rgm_mt19937 random, twin;
    int64_t there = 0;

    (void)state;
    read(&space, "hyperparameters:\n"
                 "  model: {type: {type: categorical, vals: [gcn, gat, sage]},\n"
                 "          heads: {type: int, minval: 1, maxval: 8, when: model.type == gat or "
                 "model.type == sage},\n"
                 "          drop: {type: double, minval: 0, maxval: 1, when: model.heads > 4}}\n");
    rgm_mt19937_seed(&random, 1);
    rgm_mt19937_seed(&twin, 1);
    for (int i = 0; i < 300; i++) {
        int64_t type = rgm_space_find(space, "model.type"),
                heads = rgm_space_find(space, "model.heads"),
                drop = rgm_space_find(space, "model.drop");

        CHECK_OK(rgm_space_draw(v, space, &random));
        CHECK(v[type].is_set && v[heads].is_set == (v[type].choice != 0));
        CHECK(v[drop].is_set == (v[heads].is_set && v[heads].integer > 4));
        CHECK(!v[drop].is_set || (v[drop].number >= 0 && v[drop].number < 1));
        there += v[drop].is_set;
        CHECK_INT(v[type].choice, rgm_mt19937_bounded(&twin, 2)); /* nothing else is drawn */
        if (v[heads].is_set)
            CHECK_INT(v[heads].integer, 1 + (int64_t)rgm_mt19937_bounded(&twin, 7));
        if (v[drop].is_set)
            CHECK(v[drop].number == rgm_mt19937_uniform(&twin, 0, 1));
    }
    CHECK(there > 60 && there < 140); /* a third of 300 */
    rgm_space_release(space);
}

static void constraints_hold_of_every_draw(void **state)
{
    rgm_space *space;
    rgm_hyper_value v[2];
    rgm_mt19937 random;
    const char *broken = NULL;
    int64_t sums[2] = {0};

    (void)state;
    read(&space,
         "hyperparameters: {a: {type: int, minval: 0, maxval: 9}, b: {type: int, minval: 0, "
         "maxval: 9}}\nconstraints: [a < b, b multiple_of 3]");
    rgm_mt19937_seed(&random, 5);
    for (int i = 0; i < 500; i++) {
        CHECK_OK(rgm_space_draw(v, space, &random));
        CHECK(v[0].integer < v[1].integer && v[1].integer % 3 == 0);
        sums[0] += v[0].integer;
        sums[1] += v[1].integer;
    }
    /* Uniform over the 3 + 6 + 9 pairs that hold: means 3 and 7. */
    CHECK(sums[0] > 1300 && sums[0] < 1700 && sums[1] > 3350 && sums[1] < 3650);
    v[0].integer = v[1].integer = 3;
    CHECK(!rgm_space_holds(space, v, &broken));
    CHECK_TEXT("a < b", broken);
    rgm_space_release(space);
    read(&space, "hyperparameters: {a: {type: int, minval: 0, maxval: 9}}\nconstraints: [a > 9]");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_space_draw(v, space, &random));
    CHECK_MESSAGE("10000 draws of hyperparameters, and none keeps all constraints; the last broke "
                  "'a > 9'");
    rgm_space_release(space);
    /* One that names what is not there says nothing. */
    read(&space,
         "hyperparameters: {a: {type: int, minval: 0, maxval: 9}, b: {type: int, minval: 20, "
         "maxval: 30, when: a > 100}}\nconstraints: [b <= a, a >= b]");
    CHECK_OK(rgm_space_draw(v, space, &random));
    CHECK(v[0].is_set && !v[1].is_set);
    rgm_space_release(space);
}

static void ints_have_both_ends_and_doubles_one(void **state)
{
    rgm_space *space;
    rgm_hyper_value v[3];
    rgm_mt19937 random;
    int64_t seen[4] = {0};

    (void)state;
    read(&space,
         "hyperparameters: {a: {type: int, minval: -1, maxval: 2}, b: {type: double, minval: "
         "1, maxval: 1.0000000000000002}, c: {type: log, base: 0.1, minval: 1, maxval: 3}}");
    rgm_mt19937_seed(&random, 9);
    for (int i = 0; i < 400; i++) {
        CHECK_OK(rgm_space_draw(v, space, &random));
        CHECK(v[0].integer >= -1 && v[0].integer <= 2);
        seen[v[0].integer + 1]++;
        CHECK(v[1].number == 1); /* the only double below maxval */
        CHECK(v[2].number > 0.000999 && v[2].number <= 0.1);
    }
    for (int i = 0; i < 4; i++)
        CHECK(seen[i] > 60);
    rgm_space_release(space);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void values_are_printed_as_yaml_and_json(void **state)
{
    rgm_space *space;
    rgm_hyper_value v[6];
    rgm_text text = {0};
    rgm_json *json;
    rgm_mt19937 random;

    (void)state;
    read(&space, "hyperparameters:\n"
                 "  \"a\\n\\e[31m\\\"\": {type: const, val: \"</script>\\n\"}\n"
                 "  b: {c: {d: 1, e: [1, {f: yes}]}, g: 0x10}\n"
                 "  h: {type: double, minval: 0, maxval: 1}\n"
                 "  i: null\n");
    rgm_mt19937_seed(&random, 0);
    CHECK_OK(rgm_space_draw(v, space, &random));
    CHECK_OK(rgm_space_print_json(&text, space, v));
    CHECK_TEXT(
        "{\"a\\u000a\\u001b[31m\\\"\": \"</script>\\u000a\", \"b\": {\"c\": {\"d\": 1, \"e\": "
        "[1, {\"f\": \"yes\"}]}, \"g\": \"0x10\"}, \"h\": 0.5488135039273248, \"i\": null}",
        text.data);
    CHECK_OK(rgm_json_parse(&json, text.data, text.size, "it"));
    rgm_json_release(json);
    text.size = 0;
    CHECK_OK(rgm_space_print_value(&text, space, 0, &v[0]));
    CHECK_TEXT("\"</script>\\n\"", text.data);
    text.size = 0;
    CHECK_OK(rgm_space_print_value(&text, space, rgm_space_find(space, "h"), &v[4]));
    CHECK_TEXT("0.5488135039273248", text.data);
    rgm_text_clear(&text);
    rgm_space_release(space);
    /* In a message such a name steers nothing. */
    CHECK_STATUS(RGM_ERR_CONFIG,
                 read_space(&space, "hyperparameters: {\"a\\n\\e[31m\": {type: int}}"));
    CHECK_MESSAGE("'a\\x0a\\x1b[31m' needs minval\n");
    CHECK(strchr(rgm_error_message(), 27) == NULL);
}

static rgm_status read_point(rgm_hyper_value *v, const rgm_space *space, const char *text)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;

    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "p.yaml"));
    RGM_GO(rgm_space_read_point(v, space, rgm_yaml_root(yaml)));
done:
    rgm_yaml_release(yaml);
    return status;
}

static void points_are_checked_against_the_space(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{m: {t: gcn}, n: 3}", "p.yaml:1:1: the point says nothing of 'r'"},
        {"{m: {t: gcn}, n: 3, r: 0.1, x: 1}", "p.yaml:1:32: there is no hyperparameter 'x'"},
        {"{m: {t: gcn, u: 1}, n: 3, r: 0.1}", "there is no hyperparameter 'm.u'"},
        {"{m: {t: gcn, h: 1}, n: 3, r: 0.1}", "'m.h' is given, but is there only when m.t == gat"},
        {"{m: {t: gat}, n: 3, r: 0.1}", "the point says nothing of 'm.h'"},
        {"{m: {t: sage}, n: 3, r: 0.1}", "'m.t' never is sage; its values are: gcn, gat"},
        {"{m: {t: gcn}, m.t: gcn, n: 3, r: 0.1}", "'m.t' is given twice"},
        {"{m: {t: gcn}, n: 5, r: 0.1}", "'n' is 5, but must be in 1 .. 4"},
        {"{m: {t: gcn}, n: 1.5, r: 0.1}", "should be a whole number"},
        {"{m: {t: gcn}, n: 3, r: 0.2}", "'r' is 0.2, but must be in 0.001 .. 0.1"},
        {"{m: {t: gcn}, n: 4, r: 0.1}", "the point breaks the constraint 'n != 4'"},
        {"{m: {t: gcn}, n: 3, r: 0.1, k: 8}", "'k' never is 8"},
        {"[1]", "a point is a map"},
    };
    rgm_space *space;
    rgm_hyper_value v[5];

    (void)state;
    read(&space, "hyperparameters: {m: {t: {type: categorical, vals: [gcn, gat]}, h: {type: int, "
                 "minval: 1, maxval: 8, when: m.t == gat}}, n: {type: int, minval: 1, maxval: 4}, "
                 "r: {type: log, base: 10, minval: -3, maxval: -1}, k: 7}\nconstraints: [n != 4]");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(RGM_ERR_CONFIG, read_point(v, space, bad[i].text));
        CHECK_MESSAGE(bad[i].message);
    }
    CHECK_OK(read_point(v, space, "{m: {t: gat}, m.h: 8, n: 3, r: 0.1, k: 7.0}"));
    CHECK(v[rgm_space_find(space, "m.h")].integer == 8);
    CHECK(v[rgm_space_find(space, "r")].number == 0.1);
    CHECK(v[rgm_space_find(space, "m.t")].choice == 1);
    CHECK_STATUS(RGM_ERR_CONFIG, read_point(v, space, "{m: {t: gnn}, n: 9, r: 1, z: 1}"));
    CHECK_INT(4, count_lines(rgm_error_message()));
    rgm_space_release(space);
}

/* ---- size and memory ----------------------------------------------------------------------- */

static void ten_thousand_hyperparameters_are_read_at_once(void **state)
{
    rgm_text text = {0};
    rgm_space *space;
    rgm_hyper_value *v;
    rgm_mt19937 random;
    double begin;

    (void)state;
    CHECK_OK(rgm_text_printf(&text, "hyperparameters:\n  h0: {type: int, minval: 0, maxval: 1}\n"));
    for (int i = 1; i < 10000; i++) /* a chain of conditions, as long as can be */
        CHECK_OK(rgm_text_printf(
            &text, "  h%d: {type: int, minval: 0, maxval: 9, when: h%d >= 0}\n", i, i - 1));
    begin = rgm_now();
    read(&space, text.data);
    CHECK_INT(10000, rgm_space_count(space));
    CHECK_TEXT("h9999", rgm_space_at(space, 9999)->name);
    CHECK_OK(RGM_NEW(v, 10000));
    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(v, space, &random));
    CHECK(v[9999].is_set);
    CHECK(rgm_now() - begin < 10); /* 0.1 s; a walk for each would take minutes */
    rgm_free(v);
    rgm_space_release(space);
    rgm_text_clear(&text);
}

static rgm_status read_all_kinds(void)
{
    rgm_status status = RGM_OK;
    rgm_space *space = NULL;
    rgm_hyper_value v[5];
    rgm_mt19937 random;
    rgm_text text = {0};

    RGM_GO(read_space(&space,
                      "hyperparameters: {m: {t: {type: categorical, vals: [gcn, [1, 2]]}, h: "
                      "{type: int, minval: 1, maxval: 8, when: m.t == gcn}}, r: {type: log, "
                      "base: 10, minval: -3, maxval: -1}, k: 7}\nconstraints: [m.h <= 8]"));
    rgm_mt19937_seed(&random, 1);
    RGM_GO(rgm_space_draw(v, space, &random));
    RGM_GO(rgm_space_print_json(&text, space, v));
    RGM_GO(read_point(v, space, "{m: {t: gcn, h: 1}, r: 0.1}"));
done:
    rgm_text_clear(&text);
    rgm_space_release(space);
    return status;
}

static rgm_status read_mistakes(void)
{
    rgm_space *space;
    rgm_status status = read_space(&space, "hyperparameters: {a: {type: int, minval: 1}, b: {}}");

    return status == RGM_ERR_CONFIG ? RGM_OK : status;
}

static void every_failing_allocation_is_told_and_leaks_nothing(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(read_all_kinds(), (void)0);
    CHECK_EVERY_OOM(read_mistakes(), (void)0);
}

TESTS(cmocka_unit_test(hyperparameters_are_ordered_by_bytes_level_by_level),
      cmocka_unit_test(every_kind_is_read_as_written),
      cmocka_unit_test(every_mistake_is_told_with_its_place),
      cmocka_unit_test(all_mistakes_are_told_at_once),
      cmocka_unit_test(conditions_decide_what_is_there),
      cmocka_unit_test(constraints_hold_of_every_draw),
      cmocka_unit_test(ints_have_both_ends_and_doubles_one),
      cmocka_unit_test(values_are_printed_as_yaml_and_json),
      cmocka_unit_test(points_are_checked_against_the_space),
      cmocka_unit_test(ten_thousand_hyperparameters_are_read_at_once),
      cmocka_unit_test(every_failing_allocation_is_told_and_leaks_nothing))
