/*
 * Options from YAML: every kind of field, every way to get one wrong, and that the place of a
 * mistake is named.
 */
#include <check.h>

#include <locale.h>

typedef struct inner_options {
    int64_t patience;
    const char *metric;
} inner_options;

typedef struct sample_options {
    int64_t epochs;
    double rate;
    bool shuffle;
    const char *name;
    int mode, level;
    rgm_ints hidden;
    rgm_texts tags;
    rgm_floats levels;
    rgm_numbers scales;
    rgm_lists sets;
    inner_options best;
    rgm_sections steps;
    const rgm_yaml_node *model;
} sample_options;

static const char *const mode_names[] = {"mean", "max", "sum", NULL};
static const char *const level_names[] = {"low", "high", NULL};
static const int level_values[] = {1, 6};
#define RGM_OPTIONS inner_options
static const rgm_field inner_fields[] = {
    RGM_INT_FIELD(patience, 1, INFINITY, ""), RGM_TEXT_FIELD(metric, ""), {0}};
#undef RGM_OPTIONS
static void inner_defaults(void *options)
{
    ((inner_options *)options)->patience = 9;
}
static rgm_status inner_check(const void *options)
{
    return ((const inner_options *)options)->patience != 13
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "patience of 13 brings bad luck");
}
static const rgm_section_type wait = {.name = "wait",
                                      .options_size = sizeof(inner_options),
                                      .defaults = inner_defaults,
                                      .fields = inner_fields,
                                      .check = inner_check},
                              stop = {.name = "stop", .fields = inner_fields + 2};
static const rgm_section_type *const step_types[] = {&wait, &stop, NULL};
#define RGM_OPTIONS sample_options
static const rgm_field sample_fields[] = {
    RGM_INT_FIELD(epochs, 1, 1000, ""),
    RGM_FLOAT_FIELD(rate, 0, 1, ""),
    RGM_BOOL_FIELD(shuffle, ""),
    RGM_TEXT_FIELD(name, ""),
    RGM_CHOICE_FIELD(mode, mode_names, ""),
    RGM_SOME_FIELD(level, level_names, level_values, ""),
    RGM_INTS_FIELD(hidden, 1, INFINITY, ""),
    RGM_TEXTS_FIELD(tags, ""),
    RGM_FLOATS_FIELD(levels, RGM_ABOVE_0, INFINITY, ""),
    RGM_NUMBERS_FIELD(scales, 0, RGM_BELOW_1, ""),
    RGM_LISTS_FIELD(sets, ""),
    RGM_GROUP_FIELD(best, inner_fields, ""),
    RGM_SECTIONS_FIELD(steps, step_types, ""),
    {.name = "model", .kind = RGM_FIELD_NODE, .offset = offsetof(sample_options, model)},
    {0}};
#undef RGM_OPTIONS

/* Read `text` as the map "trainer"; the document and the arena live until the next call. */
static rgm_yaml *document;
static rgm_arena *arena;
static void drop(void)
{
    rgm_yaml_release(document);
    rgm_arena_release(arena);
    document = NULL;
    arena = NULL;
}

static rgm_status read_sample(sample_options *options, const char *text)
{
    static const char *const also[] = {"type", NULL};
    rgm_status status = RGM_OK;

    drop();
    RGM_GO(rgm_arena_create(&arena));
    RGM_GO(rgm_yaml_parse(&document, text, (int64_t)strlen(text), "a.yaml"));
    RGM_GO(
        rgm_options_read(options, sample_fields, rgm_yaml_root(document), "trainer", also, arena));
done:
    if (status != RGM_OK)
        drop();
    return status;
}

static void lists_of_sections_keep_their_order(void **state)
{
    sample_options o = {.rate = 0};
    inner_options bad = {.patience = 0};
    rgm_section items[1] = {{.type = &wait, .options = &bad}};

    (void)state;
    CHECK_OK(read_sample(&o, "steps: [{type: stop}, {type: wait, metric: m}, {type: wait, "
                             "patience: 2}]\n"));
    CHECK_INT(3, o.steps.count);
    CHECK(o.steps.items[0].type == &stop && o.steps.items[0].options == NULL);
    CHECK_INT(9, ((const inner_options *)o.steps.items[1].options)->patience);
    CHECK_TEXT("m", ((const inner_options *)o.steps.items[1].options)->metric);
    CHECK_INT(2, ((const inner_options *)o.steps.items[2].options)->patience);
    CHECK_TEXT("wait", rgm_yaml_find(o.steps.items[2].node, "type")->text);
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "steps: {type: wait}\n"));
    CHECK_MESSAGE("'steps' should be a list of maps with a 'type'");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "steps: [{type: wail}]\n"));
    CHECK_MESSAGE("trainer.steps.type 'wail' is unknown; did you mean 'wait'?");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "steps: [{patience: 1}]\n"));
    CHECK_MESSAGE("trainer.steps.type is missing; it is one of wait, stop");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "steps: [{type: stop, patience: 1}]\n"));
    CHECK_MESSAGE("unknown key 'trainer.steps.patience'");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "steps:\n- {type: wait, patience: 13}\n"));
    CHECK_MESSAGE("a.yaml:2:3: patience of 13");
    o = (sample_options){.epochs = 1, .level = 1, .best = {.patience = 1}, .steps = {items, 1}};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check(&o, sample_fields, "trainer"));
    CHECK_MESSAGE("trainer.steps.patience is 0");
    bad.patience = 13;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check(&o, sample_fields, "trainer"));
    CHECK_MESSAGE("bad luck");
    drop();
}

static void every_kind_of_field_is_read(void **state)
{
    sample_options o = {.rate = 0.25};

    (void)state;
    CHECK_OK(read_sample(
        &o, "epochs: 7\nshuffle: true\nname: a b\nmode: max\nlevel: high\nhidden: [16, 32]\n"
            "tags: [x, \"1\"]\nbest: {patience: 3, metric: valid.accuracy}\n"
            "levels: [0.5, 1e3]\nscales: {a/*: 0.25, \"*b\": 0}\n"
            "sets: {news: [n.de, n.en], web: w.tsv}\n"
            "model: {type: gcn}\ntype: passed over\n"));
    CHECK_INT(7, o.epochs);
    CHECK(o.rate == 0.25);
    CHECK(o.shuffle);
    CHECK_TEXT("a b", o.name);
    CHECK_INT(1, o.mode);
    CHECK_INT(6, o.level);
    CHECK_INT(2, o.hidden.count);
    CHECK_INT(32, o.hidden.items[1]);
    CHECK_INT(2, o.tags.count);
    CHECK_TEXT("1", o.tags.items[1]);
    CHECK_INT(2, o.levels.count);
    CHECK(o.levels.items[0] == 0.5 && o.levels.items[1] == 1000);
    CHECK_INT(2, o.scales.count);
    CHECK_TEXT("a/*", o.scales.names[0]);
    CHECK_TEXT("*b", o.scales.names[1]);
    CHECK(o.scales.values[0] == 0.25 && o.scales.values[1] == 0);
    CHECK_INT(2, o.sets.count);
    CHECK_TEXT("news", o.sets.names[0]);
    CHECK_INT(2, o.sets.items[0].count);
    CHECK_TEXT("n.en", o.sets.items[0].items[1]);
    CHECK_TEXT("web", o.sets.names[1]);
    CHECK_TEXT("w.tsv", o.sets.items[1].items[0]);
    CHECK_INT(3, o.best.patience);
    CHECK_TEXT("valid.accuracy", o.best.metric);
    CHECK_TEXT("gcn", rgm_yaml_find(o.model, "type")->text);
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "sets: [a]\n"));
    CHECK_MESSAGE("'sets' should be a map to lists, but is a list");
    drop();
}

static void one_number_or_text_is_a_list_of_one(void **state)
{
    sample_options o = {0};

    (void)state;
    CHECK_OK(read_sample(&o, "hidden: 5\ntags: only\n"));
    CHECK_INT(1, o.hidden.count);
    CHECK_INT(5, o.hidden.items[0]);
    CHECK_INT(1, o.tags.count);
    CHECK_TEXT("only", o.tags.items[0]);
    CHECK_OK(read_sample(&o, "hidden: []\n"));
    CHECK_INT(0, o.hidden.count);
    drop();
}

static void no_map_leaves_the_defaults(void **state)
{
    sample_options o = {.epochs = 3};

    (void)state;
    CHECK_OK(rgm_options_read(&o, sample_fields, NULL, "trainer", NULL, NULL));
    CHECK_INT(3, o.epochs);
}

static void numbers_are_read_exactly_and_whole(void **state)
{
    static const struct {
        const char *text;
        double number;
    } good[] = {{"rate: 1e-4", 1e-4},
                {"rate: .5", 0.5},
                {"rate: 1.", 1},
                {"rate: 0", 0},
                {"rate: +2.5E-1", 0.25}};
    static const char *const bad[] = {
        "rate: 1_0",
        "rate: nan",
        "rate: inf",
        "rate: 0x1p-1",
        "rate: \"0.5\"",
        "rate: ",
        "rate: 1e",
        "rate: .",
        "rate: 0,5",
        "rate: [0.5]",
        "rate: 1e999",
        "epochs: 1.0",
        "epochs: 1e2",
        "epochs: ten",
        "epochs: 1 2",
        "epochs: -",
        "epochs: 99999999999999999999",
        "shuffle: yes",
        "shuffle: \"true\"",
        "shuffle: 1",
        "name: [a]",
        "name: ",
        "tags: [[a]]",
        "hidden: [a]",
        "levels: [a]",
        "scales: [1]",
        "scales: 1",
        "scales: {a: b}",
        "hidden: {}",
        "mode: {}",
        "best: 3",
        "best: ",
    };
    sample_options o = {0};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_OK(read_sample(&o, good[i].text));
        CHECK(o.rate == good[i].number);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (read_sample(&o, bad[i]) != RGM_ERR_CONFIG)
            fail_msg("accepted: %s", bad[i]);
        CHECK_MESSAGE("a.yaml:1:");
    }
    drop();
}

static void a_decimal_comma_locale_changes_nothing(void **state)
{
    sample_options o = {0};

    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "de_DE") == NULL)
        SKIP("no German locale is installed");
    rgm_status status = read_sample(&o, "rate: 0.125");
    setlocale(LC_ALL, "C");
    CHECK_OK(status);
    CHECK(o.rate == 0.125);
    drop();
}

static void a_number_out_of_bounds_is_refused_with_the_bounds(void **state)
{
    sample_options o = {0};

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "shuffle: true\nepochs: 1001\n"));
    CHECK_MESSAGE("a.yaml:2:");
    CHECK_MESSAGE("'epochs' is 1001, but must be in 1 .. 1000");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "rate: -0.1"));
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "best: {patience: 0}"));
    CHECK_MESSAGE("must be at least 1");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "hidden: [4, 0]"));
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "levels: [4, 0]"));
    CHECK_MESSAGE("'levels' is 0, but must be above 0");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "scales: {a: 0.5, b: 1}"));
    CHECK_MESSAGE("'b' is 1, but must be in [0, 1)");
    CHECK_OK(read_sample(&o, "levels: 1e-300\nscales: {b: 0.99999999999}"));
    drop();
}

static void options_of_a_program_are_held_to_the_same_bounds(void **state)
{
    static const double levels[] = {1, INFINITY}, scales[] = {0.5, -0.5};
    static const char *const names[] = {"a", "b"};
    const sample_options good = {.epochs = 1, .level = 1, .best = {.patience = 1}};
    sample_options o = good;

    (void)state;
    CHECK_OK(rgm_options_check(&o, sample_fields, "trainer"));
    o.rate = NAN;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check(&o, sample_fields, "trainer"));
    CHECK_MESSAGE("trainer.rate is nan, but must be finite");
    o = good;
    o.best.patience = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check(&o, sample_fields, "trainer"));
    CHECK_MESSAGE("trainer.best.patience is 0, but must be at least 1");
    o = good;
    o.levels = (rgm_floats){levels, 2};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check(&o, sample_fields, "trainer"));
    CHECK_MESSAGE("trainer.levels is inf");
    o = good;
    o.scales = (rgm_numbers){names, scales, 2};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check(&o, sample_fields, "trainer"));
    CHECK_MESSAGE("trainer.scales is -0.5, but must be in [0, 1)");
    o = good;
    o.level = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_options_check(&o, sample_fields, "trainer"));
    CHECK_MESSAGE("trainer.level is 2, which does not exist");
}

static void an_unknown_key_names_the_nearest_one(void **state)
{
    sample_options o = {0};

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "shuffle: true\nepoch: 3\n"));
    CHECK_MESSAGE("a.yaml:2:");
    CHECK_MESSAGE("unknown key 'trainer.epoch'; did you mean 'trainer.epochs'?");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "best: {metrics: a}"));
    CHECK_MESSAGE("unknown key 'trainer.best.metrics'; did you mean 'trainer.best.metric'?");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "zzzzzzzzzzzzzz: a"));
    CHECK_MESSAGE("the keys here are: epochs, rate,");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "mode: maximum"));
    CHECK_MESSAGE("'mode' cannot be \"maximum\"");
    CHECK_STATUS(RGM_ERR_CONFIG, read_sample(&o, "mode: maxx"));
    CHECK_MESSAGE("did you mean 'max'?");
    drop();
}

static void the_largest_and_the_smallest_whole_number_are_read(void **state)
{
    static const char *text = "[9223372036854775807, -9223372036854775808]";
    rgm_yaml *yaml = NULL;
    int64_t number;

    (void)state;
    CHECK_OK(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "a.yaml"));
    CHECK_OK(rgm_yaml_int(&number, rgm_yaml_root(yaml)->items[0]));
    CHECK(number == INT64_MAX);
    CHECK_OK(rgm_yaml_int(&number, rgm_yaml_root(yaml)->items[1]));
    CHECK(number == INT64_MIN);
    rgm_yaml_release(yaml);
}

static void reading_survives_every_failing_allocation(void **state)
{
    sample_options o = {0};

    (void)state;
    drop();
    CHECK_EVERY_OOM(read_sample(&o, "name: a\nhidden: [1, 2]\ntags: [x]\nbest: {metric: m}\n"
                                    "levels: [1]\nscales: {a: 0}"),
                    drop());
}

/* More keys and types than any list of fixed length that one would think of. */
static void the_last_of_very_many_names_is_known(void **state)
{
    enum { MANY = 300 };
    static char keys[MANY][16], types[MANY][24];
    rgm_field fields[MANY + 1] = {0};
    rgm_section_type rows[MANY] = {0};
    const rgm_section_type *list[MANY + 1] = {0};
    const rgm_field steps[] = {{.name = "steps", .kind = RGM_FIELD_SECTIONS, .sections = list},
                               {0}};
    rgm_sections read;
    rgm_arena *own;
    rgm_yaml *yaml;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "key_%c%c%c", 'a' + i % 26, 'a' + i / 26, 'a' + i % 7);
        snprintf(types[i], sizeof types[i], "type_%d", i);
        fields[i] = (rgm_field){.name = keys[i], .kind = RGM_FIELD_INT};
        rows[i] = (rgm_section_type){.name = types[i], .fields = steps + 1};
        list[i] = &rows[i];
    }
    snprintf(keys[MANY - 1], sizeof keys[0], "momentum");
    CHECK_OK(rgm_arena_create(&own));
    CHECK_OK(rgm_yaml_parse(&yaml, "momentun: 1", 11, "it"));
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_options_read(&read, fields, rgm_yaml_root(yaml), "", NULL, own));
    CHECK_MESSAGE("did you mean 'momentum'?");
    rgm_yaml_release(yaml);
    CHECK_OK(rgm_yaml_parse(&yaml, "steps: [{type: type_299}]", 25, "it"));
    CHECK_OK(rgm_options_read(&read, steps, rgm_yaml_root(yaml), "", NULL, own));
    CHECK(read.count == 1 && read.items[0].type == &rows[MANY - 1]);
    rgm_yaml_release(yaml);
    rgm_arena_release(own);
}

/* Kinds that are not printed. */
static const rgm_field *const unprinted[] = {&sample_fields[9], &sample_fields[10],
                                             &sample_fields[12], &sample_fields[13]};

static rgm_status print_sample(rgm_text *out, const sample_options *o)
{
    const sample_options defaults = {.rate = 0.25, .name = "x", .best = {.patience = 9}};
    rgm_field fields[11];
    int count = 0;

    for (const rgm_field *f = sample_fields; f->name != NULL; f++) {
        bool printed = true;

        for (int i = 0; i < 4; i++)
            printed = printed && f != unprinted[i];
        if (printed)
            fields[count++] = *f;
    }
    fields[count] = (rgm_field){.name = NULL};
    return rgm_options_print(out, o, &defaults, fields);
}

static void what_is_printed_reads_as_what_it_was(void **state)
{
    static const char *const tags[] = {"a, b", "line\n\"two\"", "~"};
    const int64_t hidden[] = {3, -4};
    const double levels[] = {0.1, 1e-300};
    sample_options o = {.rate = 0.25, .name = "x", .best = {.patience = 9}}, again;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(print_sample(&text, &o));
    CHECK_TEXT("{}", text.data);
    o = (sample_options){.epochs = 7,
                         .rate = 1.0 / 3,
                         .shuffle = true,
                         .mode = 2,
                         .level = 6,
                         .hidden = {hidden, 2},
                         .tags = {tags, 3},
                         .levels = {levels, 2},
                         .best = {.patience = 9, .metric = "valid.loss"}};
    text.size = 0;
    CHECK_OK(print_sample(&text, &o));
    CHECK_TEXT(
        "{epochs: 7, rate: 0.33333333333333331, shuffle: true, name: ~, mode: sum, level: "
        "high, hidden: [3, -4], tags: [\"a, b\", \"line\\u000a\\\"two\\\"\", \"~\"], levels: "
        "[0.10000000000000001, 1e-300], best: {metric: \"valid.loss\"}}",
        text.data);
    again = (sample_options){.rate = 0.25, .best = {.patience = 9}};
    o.hidden.count = 1; /* below its bound is what a program wrote, and no file may */
    o.hidden.items = hidden;
    text.size = 0;
    CHECK_OK(print_sample(&text, &o));
    CHECK_OK(read_sample(&again, text.data));
    CHECK(again.epochs == 7 && again.rate == 1.0 / 3 && again.shuffle && again.mode == 2);
    CHECK(again.level == 6 && again.hidden.items[0] == 3 && again.levels.items[1] == 1e-300);
    CHECK_TEXT(tags[1], again.tags.items[1]);
    CHECK_TEXT("valid.loss", again.best.metric);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_options_print(&text, &o, &again, sample_fields));
    CHECK_MESSAGE("option 'scales' is of a kind that is not printed");
    rgm_text_clear(&text);
}

TESTS(cmocka_unit_test(every_kind_of_field_is_read),
      cmocka_unit_test(what_is_printed_reads_as_what_it_was),
      cmocka_unit_test(lists_of_sections_keep_their_order),
      cmocka_unit_test(one_number_or_text_is_a_list_of_one),
      cmocka_unit_test(no_map_leaves_the_defaults),
      cmocka_unit_test(numbers_are_read_exactly_and_whole),
      cmocka_unit_test(a_decimal_comma_locale_changes_nothing),
      cmocka_unit_test(a_number_out_of_bounds_is_refused_with_the_bounds),
      cmocka_unit_test(options_of_a_program_are_held_to_the_same_bounds),
      cmocka_unit_test(an_unknown_key_names_the_nearest_one),
      cmocka_unit_test(the_last_of_very_many_names_is_known),
      cmocka_unit_test(the_largest_and_the_smallest_whole_number_are_read),
      cmocka_unit_test(reading_survives_every_failing_allocation))
