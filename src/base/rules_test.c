/*
 * Rules between keys: every relation, conditions, what is said when one does not hold, a file's own
 * rules, and tables over options that a program filled in.
 */
#include <check.h>
#include <regimen/base.h>

/* Keys a.x and a.y as given, a.list, a.unset, a.kind. */
typedef struct keys {
    const char *x, *y;
} keys;

static bool find(rgm_rule_value *out, const char *key, void *payload)
{
    const keys *k = payload;

    *out = (rgm_rule_value){.given = true};
    if (strcmp(key, "a.x") == 0)
        out->text = k->x;
    else if (strcmp(key, "a.y") == 0)
        out->text = k->y;
    else if (strcmp(key, "a.kind") == 0)
        out->text = "ogb";
    else if (strcmp(key, "a.list") == 0)
        *out = (rgm_rule_value){.text = "[...]", .shown = "[1, 2]", .is_list = true};
    else if (strcmp(key, "a.unset") != 0)
        return false;
    out->where = "f.yaml:3";
    return true;
}

static bool looks_like_one(const char *text)
{
    return strncmp(text, "a.", 2) == 0;
}

static rgm_hint did_you_mean(const char *text, void *payload)
{
    static const char *const names[] = {"a.x", "a.y", "a.list", "a.kind"};

    (void)payload;
    return rgm_did_you_mean(text, names, 4, NULL, NULL);
}

static rgm_rule_keys keys_of(keys *k)
{
    return (rgm_rule_keys){
        .find = find, .looks_like_one = looks_like_one, .did_you_mean = did_you_mean, .payload = k};
}

static void every_relation_means_what_it_says(void **state)
{
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"a.x <= a.y", true},
        {"a.y <= a.x or a.x < 4.5", true},
        {"a.x < 4 or a.y <= a.x", false},
        {"a.x < 4 or a.y <= a.x or a.x < 4.5", true},
        {"a.y <= a.x", false},
        {"a.x < 4", false},
        {"a.x < 4.5", true},
        {"a.y >= 8", true},
        {"a.y > 8", false},
        {"a.y multiple_of a.x", true},
        {"a.x multiple_of a.y", false},
        {"a.x multiple_of 0", false},
        {"a.x == 4.0", true},
        {"a.x != 4", false},
        {"a.kind == folder|ogb", true},
        {"a.kind == folder", false},
        {"a.unset == null", true},
        {"a.x == null", false},
        {"a.x < inf", true},
        {"a.kind <= 4", false},
        {"a.x excludes a.y", false},
    };
    keys k = {"4", "8"};
    const rgm_rule_keys all = keys_of(&k);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rgm_rule_holds(cases[i].text, false, &all) != cases[i].holds)
            fail_msg("%s should be %s", cases[i].text, cases[i].holds ? "true" : "false");
    CHECK(rgm_rule_holds(NULL, false, &all));
    CHECK(rgm_rule_holds("b.z == 1", true, &all) && !rgm_rule_holds("b.z == 1", false, &all));
}

static void a_rule_is_told_with_both_values_and_why(void **state)
{
    static const rgm_rule rules[] = {
        {"a.x >= 1", {NULL}, NULL}, {"a.x <= a.y", {"a.kind == ogb"}, "so many there are"}, {0}};
    static const rgm_rule elsewhere[] = {{"a.x <= a.y", {"a.kind == folder"}, NULL},
                                         {"a.x <= a.y", {"b.z == 1"}, NULL},
                                         {"b.z <= a.y", {NULL}, NULL},
                                         {0}};
    keys k = {"4", "8"};
    const rgm_rule_keys all = keys_of(&k);

    (void)state;
    CHECK_OK(rgm_rules_check(rules, &all));
    k.x = "9";
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_rules_check(rules, &all));
    CHECK_MESSAGE("a.x is 9 (f.yaml:3), but must be at most a.y, which is 8 (f.yaml:3): so many "
                  "there are");
    CHECK_OK(rgm_rules_check(elsewhere, &all));
    k.x = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_rules_check(rules, &all));
    CHECK_MESSAGE("a.x is not set (f.yaml:3), but must be at least 1");
}

static void refuse(const char *text, const char *part)
{
    keys k = {"4", "8"};
    const rgm_rule_keys all = keys_of(&k);
    const rgm_yaml_node node = {
        .kind = RGM_YAML_SCALAR, .text = text, .origin = "f.yaml", .line = 2, .column = 5};

    CHECK_STATUS(RGM_ERR_CONFIG, rgm_rule_check_text(&node, "f.yaml:2 says so", &all));
    CHECK_MESSAGE("f.yaml:2:5: ");
    CHECK_MESSAGE(part);
}

static void a_files_own_rule_is_read_with_care(void **state)
{
    (void)state;
    refuse("a.x > a.y", "but must be above a.y, which is 8 (f.yaml:3): f.yaml:2 says so");
    refuse("a.x", "has no relation");
    refuse("a.x <= a.y <= 9", "has two relations");
    refuse("a.xx <= 3", "there is no key 'a.xx'; did you mean 'a.x'?");
    refuse("a.x <= a.z", "there is no key 'a.z'");
    refuse("a.list == 3", "a.list is a list");
    refuse("a.x excludes a.y", "has no relation"); /* a full print gives every key */
}

typedef struct inner {
    double rate;
} inner;
typedef struct options {
    int64_t steps, loop;
    int kind;
    const char *name;
    inner in;
} options;

static void rules_hold_over_options_too(void **state)
{
    static const char *const kinds[] = {"plain", "fancy", NULL};
#define RGM_OPTIONS inner
    static const rgm_field inner_fields[] = {RGM_FLOAT_FIELD(rate, 0, 1, "a rate"), {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS options
    static const rgm_field fields[] = {
        RGM_INT_FIELD(steps, 0, 100, "steps"),       RGM_INT_FIELD(loop, 1, 100, "of a loop"),
        RGM_CHOICE_FIELD(kind, kinds, "which"),      RGM_TEXT_FIELD(name, "a name"),
        RGM_GROUP_FIELD(in, inner_fields, "inside"), {0}};
#undef RGM_OPTIONS
    static const rgm_rule rules[] = {
        {"t.steps multiple_of t.loop", {"t.kind == fancy", "t.name != null"}, "loops are whole"},
        {"t.in.rate < 0.5", {NULL}, NULL},
        {"t.steps excludes t.loop", {"t.kind == plain"}, NULL},
        {"t.nothing == 3", {NULL}, NULL},
        {0}};
    const options usual = {.loop = 1};
    options o = {.steps = 7, .loop = 2, .kind = 1};

    (void)state;
    CHECK_OK(rgm_options_check_rules(rules, &o, &usual, fields, "t"));
    o.name = "x";
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check_rules(rules, &o, &usual, fields, "t"));
    CHECK_MESSAGE("t.steps is 7, but must be a multiple of t.loop, which is 2: loops are whole");
    o.kind = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check_rules(rules, &o, &usual, fields, "t"));
    CHECK_MESSAGE("t.steps is 7 and excludes t.loop, which is 2");
    o.loop = 1; /* as it usually is: not given */
    CHECK_OK(rgm_options_check_rules(rules, &o, &usual, fields, "t"));
    o.in.rate = 0.5;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check_rules(rules, &o, &usual, fields, "t"));
    CHECK_MESSAGE("t.in.rate is 0.5, but must be below 0.5");
}

TESTS(cmocka_unit_test(every_relation_means_what_it_says),
      cmocka_unit_test(a_rule_is_told_with_both_values_and_why),
      cmocka_unit_test(a_files_own_rule_is_read_with_care),
      cmocka_unit_test(rules_hold_over_options_too))
