/*
 * Graphs in tf.train.Example: the shop against protoc, what is refused and how it is said, the
 * traps of TF-GNN's codec, and 300 broken graphs.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_shop.h"

/* ---- protoc ---- */

static int protoc(const char *mode, const char *from, const char *to)
{
    char option[64];
    int status = 0;
    pid_t child;

    snprintf(option, sizeof option, "--%s=tensorflow.Example", mode);
    child = fork();
    if (child == 0) {
        int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0)
            _exit(126);
        execlp("protoc", "protoc", "-Itests/proto", option, "example.proto", (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#define INT64S(key, values)                                                                        \
    "feature { key: \"" key "\" value { int64_list { value: [" values "] } } }\n"
#define FLOATS(key, values)                                                                        \
    "feature { key: \"" key "\" value { float_list { value: [" values "] } } }\n"
#define BYTES(key, values)                                                                         \
    "feature { key: \"" key "\" value { bytes_list { value: [" values "] } } }\n"

/* In the order in which it is written: by key. */
static const char shop_example[] = "features {" INT64S("context/label", "1")
    INT64S("edges/buys.#size", "2") INT64S("edges/buys.#source", "0, 1")
        INT64S("edges/buys.#target", "0, 0") INT64S("nodes/item.#size", "1")
            FLOATS("nodes/item.vec", "1, 2, 3, 4") INT64S("nodes/user.#size", "2")
                FLOATS("nodes/user.age", "31, 45") BYTES("nodes/user.tags", "\"a\", \"b\", \"c\"")
                    INT64S("nodes/user.tags.d1", "2, 1") "}";

static void the_shop_is_what_protoc_writes(void **state)
{
    const char *folder = check_folder();
    rgm_schema *schema = parse_schema(shop_text);
    rgm_graph *graph = first_shop(schema), *read;
    char *text, *bytes, *content;
    rgm_text encoded = {0};
    int64_t size;

    (void)state;
    CHECK_OK(rgm_path_join(&text, folder, "text"));
    CHECK_OK(rgm_path_join(&bytes, folder, "bytes"));
    CHECK_OK(rgm_file_save(text, shop_example, sizeof shop_example - 1));
    if (protoc("encode", text, bytes) == 127)
        SKIP("protoc is not installed");
    CHECK_OK(rgm_file_load(&content, &size, bytes, 1 << 20));
    CHECK(size > 100);
    CHECK_OK(rgm_graph_decode(&read, schema, content, size, NULL, "protoc"));
    check_same_graph(graph, read);
    rgm_graph_release(read);
    CHECK_OK(rgm_graph_encode(&encoded, graph, NULL));
    /* protoc's text of both, as its own map order is not ours */
    rgm_free(content);
    CHECK_OK(rgm_file_save(bytes, encoded.data, encoded.size));
    CHECK_INT(0, protoc("decode", bytes, text));
    CHECK_OK(rgm_file_load(&content, &size, text, 1 << 20));
    CHECK(strstr(content, "key: \"nodes/user.tags.d1\"") != NULL);
    CHECK_OK(rgm_file_save(text, content, size));
    CHECK_INT(0, protoc("encode", text, bytes));
    rgm_free(content);
    CHECK_OK(rgm_file_load(&content, &size, bytes, 1 << 20));
    CHECK_OK(rgm_graph_decode(&read, schema, content, size, "", NULL));
    check_same_graph(graph, read);
    rgm_graph_release(read);
    rgm_free(content);
    rgm_free(text);
    rgm_free(bytes);
    rgm_text_clear(&encoded);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- our own Examples ---- */

static rgm_example_field int_field(const char *key, const int64_t *values, int64_t count)
{
    return (rgm_example_field){.key = {key, (int64_t)strlen(key)},
                               .kind = RGM_FEATURE_INTS,
                               .count = count,
                               .ints = values};
}
#define I(key, ...)                                                                                \
    int_field(key, (int64_t[]){__VA_ARGS__},                                                       \
              (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static rgm_example_field float_field(const char *key, const float *values, int64_t count)
{
    return (rgm_example_field){.key = {key, (int64_t)strlen(key)},
                               .kind = RGM_FEATURE_FLOATS,
                               .count = count,
                               .floats = values};
}
#define F(key, ...)                                                                                \
    float_field(key, (float[]){__VA_ARGS__},                                                       \
                (int64_t)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)))
#define FIELDS(...)                                                                                \
    (const rgm_example_field[]){__VA_ARGS__},                                                      \
        (int64_t)(sizeof((const rgm_example_field[]){__VA_ARGS__}) / sizeof(rgm_example_field))

static rgm_status decode(rgm_graph **out, rgm_schema *schema, const rgm_example_field *fields,
                         int64_t count)
{
    rgm_text text = {0};
    rgm_status status;

    CHECK_OK(rgm_example_encode(&text, fields, count));
    status = rgm_graph_decode(out, schema, text.data, text.size, NULL, "a.tfrecord: record 7");
    rgm_text_clear(&text);
    return status;
}

static rgm_schema *plain_schema(void)
{
    return parse_schema("context { features { key: \"y\" value { dtype: DT_INT32 } } }\n"
                        "node_sets { key: \"a\" value { features { key: \"x\" value { dtype: "
                        "DT_FLOAT shape { dim { "
                        "size: 2 } } } } } }\n"
                        "node_sets { key: \"b.c/d\" value { features { key: \"u8.z\" value { "
                        "dtype: DT_UINT8 } } } }\n"
                        "edge_sets { key: \"e\" value { source: \"a\" target: \"b.c/d\" } }\n");
}

static void names_with_dots_and_slashes_are_found(void **state)
{
    rgm_schema *schema = plain_schema();
    rgm_graph *graph;

    (void)state;
    CHECK_OK(decode(&graph, schema,
                    FIELDS(I("nodes/a.#size", 1), F("nodes/a.x", 1, 2), I("nodes/b.c/d.#size", 2),
                           I("nodes/b.c/d.u8.z", 3, 255), I("edges/e.#size", 1),
                           I("edges/e.#source", 0), I("edges/e.#target", 1), I("other", 9))));
    CHECK_INTS(rgm_graph_feature(graph, RGM_NODE_SET, "b.c/d", "u8.z")->values, 3, 255);
    CHECK_INT(RGM_I32,
              rgm_tensor_dtype(rgm_graph_feature(graph, RGM_NODE_SET, "b.c/d", "u8.z")->values));
    CHECK(rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, "y") == NULL); /* absent is no error */
    CHECK_INTS(rgm_graph_target(graph, "e"), 1);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

static void what_is_left_out_is_empty(void **state)
{
    rgm_schema *schema = plain_schema();
    rgm_graph *graph;

    (void)state;
    CHECK_OK(decode(&graph, schema, FIELDS(I("context/y", 5))));
    CHECK_INT(1, rgm_graph_components(graph));
    CHECK_INT(0, rgm_graph_total(graph, RGM_NODE_SET, "a"));
    CHECK_INT(2, rgm_tensor_dim(rgm_graph_feature(graph, RGM_NODE_SET, "a", "x")->values, 1));
    rgm_graph_release(graph);
    CHECK_OK(decode(&graph, schema, NULL, 0));
    CHECK_INT(1, rgm_graph_components(graph));
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

static void a_wrong_example_is_refused_with_key_numbers_and_place(void **state)
{
    rgm_schema *schema = plain_schema();
    rgm_graph *graph;

    (void)state;
#define REFUSED(message, ...)                                                                      \
    do {                                                                                           \
        CHECK_STATUS(RGM_ERR_DATA, decode(&graph, schema, FIELDS(__VA_ARGS__)));                   \
        CHECK(graph == NULL);                                                                      \
        CHECK_MESSAGE("a.tfrecord: record 7: ");                                                   \
        CHECK_MESSAGE(message);                                                                    \
    } while (0)
    REFUSED("'nodes/a.x' has 3 values, expected 2 (1 items)", I("nodes/a.#size", 1),
            F("nodes/a.x", 1, 2, 3));
    REFUSED("'nodes/a.x' has 2 values, expected 4", I("nodes/a.#size", 2), F("nodes/a.x", 1, 2));
    REFUSED("'nodes/a.x' is a int64_list, expected float_list", I("nodes/a.#size", 1),
            I("nodes/a.x", 1, 2));
    REFUSED("'nodes/a.#size': size of component 0 is -1", I("nodes/a.#size", -1));
    REFUSED("'nodes/b.c/d.#size' has 2 components, but 'nodes/a.#size' has 1",
            I("nodes/a.#size", 0), I("nodes/b.c/d.#size", 0, 0));
    REFUSED("'edges/e.#size' is missing, with 2 components", I("nodes/a.#size", 0, 0),
            I("nodes/b.c/d.#size", 0, 0));
    REFUSED("'edges/e.#source' has 1 values for 2 edges", I("nodes/a.#size", 1),
            F("nodes/a.x", 0, 0), I("edges/e.#size", 2), I("edges/e.#source", 0),
            I("edges/e.#target", 0, 0));
    REFUSED("edge set 'e': target of edge 0 is 0, but node set 'b.c/d' has 0 nodes",
            I("nodes/a.#size", 1), F("nodes/a.x", 0, 0), I("edges/e.#size", 1),
            I("edges/e.#source", 0), I("edges/e.#target", 0));
    REFUSED("'nodes/b.c/d.u8.z': value 1 is 256, beyond DT_UINT8", I("nodes/b.c/d.#size", 2),
            I("nodes/b.c/d.u8.z", 0, 256));
    REFUSED("'context/y': value 0 is 2147483648, beyond DT_INT32", I("context/y", 2147483648));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_graph_decode(&graph, schema, "\xff", 1, NULL, "b: record 1"));
    CHECK_MESSAGE("b: record 1: ");
    rgm_schema_release(schema);
}

static void numbers_are_never_narrowed_in_silence(void **state)
{
    rgm_schema *schema =
        parse_schema("context { features { key: \"d\" value { dtype: DT_DOUBLE } }\n"
                     "features { key: \"u\" value { dtype: DT_UINT64 } }\n"
                     "features { key: \"t\" value { dtype: DT_BOOL } } }");
    rgm_feature d = {.values = NULL}, u = {.values = INTS(-1)}, t = {.values = NULL};
    rgm_graph *graph, *again, *read;
    rgm_graph_builder *b;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&d.values, RGM_F64, 1, (int64_t[]){1}, (double[]){0.1}));
    CHECK_OK(rgm_tensor_create_from(&t.values, RGM_BOOL, 1, (int64_t[]){1}, (uint8_t[]){1}));
    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_CONTEXT_PIECE, NULL, "d", &d));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_CONTEXT_PIECE, NULL, "u", &u));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_CONTEXT_PIECE, NULL, "t", &t));
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_encode(&text, graph, NULL));
    CHECK_MESSAGE("'context/d': value 0 is 0.1");
    CHECK_MESSAGE("declare the feature DT_FLOAT");
    rgm_feature_clear(&d);
    CHECK_OK(rgm_tensor_create_from(&d.values, RGM_F64, 1, (int64_t[]){1}, (double[]){0.375}));
    CHECK_OK(rgm_graph_with_feature(&again, graph, RGM_CONTEXT_PIECE, NULL, "d", &d));
    CHECK_INT(0, text.size);
    CHECK_OK(rgm_graph_encode(&text, again, "p/"));
    CHECK_OK(rgm_graph_decode(&read, schema, text.data, text.size, "p/", NULL));
    check_same_graph(again, read);
    rgm_graph_release(read);
    CHECK_OK(rgm_graph_decode(&read, schema, text.data, text.size, "q/", NULL));
    CHECK(rgm_graph_feature(read, RGM_CONTEXT_PIECE, NULL, "d") == NULL);
    rgm_graph_release(read);
    rgm_text_clear(&text);
    rgm_feature_clear(&d);
    rgm_feature_clear(&u);
    rgm_feature_clear(&t);
    rgm_graph_release(graph);
    rgm_graph_release(again);
    rgm_graph_builder_release(b);
    rgm_schema_release(schema);
}

static void any_number_of_ragged_dims_goes_round(void **state)
{
    rgm_schema *schema = parse_schema("node_sets { key: \"n\" value {\n"
                                      "features { key: \"r2\" value { dtype: DT_INT64 shape { dim "
                                      "{ size: -1 } dim { size: -1 } } } }\n"
                                      "features { key: \"mix\" value { dtype: DT_FLOAT shape { dim "
                                      "{ size: 2 } dim { size: -1 } dim "
                                      "{ size: 3 } } } } } }");
    rgm_feature r2 = {.values = INTS(1, 2, 3, 4, 5, 6)}, mix = {.values = NULL};
    rgm_graph_builder *b;
    rgm_graph *graph, *read, *merged, *part;
    rgm_text text = {0};

    (void)state;
    r2.row_lengths[1] = INTS(2, 0, 1); /* items */
    r2.row_lengths[2] = INTS(3, 0, 3); /* rows  */
    mix.values = floats(2, (int64_t[]){3, 3}, (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
    mix.row_lengths[2] = INTS(1, 0, 0, 0, 2, 0);
    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "n", (int64_t[]){3}));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_NODE_SET, "n", "r2", &r2));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_NODE_SET, "n", "mix", &mix));
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    CHECK_OK(rgm_graph_encode(&text, graph, NULL));
    CHECK_OK(rgm_graph_decode(&read, schema, text.data, text.size, NULL, NULL));
    check_same_graph(graph, read);
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){graph, read}, 2));
    CHECK_INTS(rgm_graph_feature(merged, RGM_NODE_SET, "n", "r2")->row_lengths[2], 3, 0, 3, 3, 0,
               3);
    CHECK_OK(rgm_graph_component(&part, merged, 1));
    check_same_graph(graph, part);
    rgm_text_clear(&text);
    rgm_feature_clear(&r2);
    rgm_feature_clear(&mix);
    rgm_graph_builder_release(b);
    rgm_graph_release(graph);
    rgm_graph_release(read);
    rgm_graph_release(merged);
    rgm_graph_release(part);
    rgm_schema_release(schema);
}

/* ---- batches ---- */

static void a_batch_is_decoded_as_if_merged(void **state)
{
    rgm_schema *schema = parse_schema(shop_text);
    rgm_graph *a = first_shop(schema), *b = second_shop(schema), *merged, *batch;
    rgm_text text[2] = {{0}, {0}};
    rgm_str examples[3];

    (void)state;
    CHECK_OK(rgm_graph_encode(&text[0], a, NULL));
    CHECK_OK(rgm_graph_encode(&text[1], b, NULL));
    examples[0] = examples[2] = (rgm_str){text[0].data, text[0].size};
    examples[1] = (rgm_str){text[1].data, text[1].size};
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){a, b, a}, 3));
    for (int again = 0; again < 2; again++) { /* workspaces are used again */
        CHECK_OK(rgm_graph_decode_batch(&batch, schema, examples, 3, NULL, NULL));
        check_same_graph(merged, batch);
        rgm_graph_release(batch);
    }
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_decode_batch(&batch, schema, examples, 0, NULL, NULL));
    rgm_text_clear(&text[0]);
    rgm_text_clear(&text[1]);
    rgm_graph_release(a);
    rgm_graph_release(b);
    rgm_graph_release(merged);
    rgm_schema_release(schema);
}

static rgm_status batch_of_two(rgm_graph **out, rgm_schema *schema, const rgm_example_field *first,
                               int64_t first_count, const rgm_example_field *second,
                               int64_t second_count)
{
    rgm_text text[2] = {{0}, {0}};
    rgm_str examples[2];
    rgm_status status;

    CHECK_OK(rgm_example_encode(&text[0], first, first_count));
    CHECK_OK(rgm_example_encode(&text[1], second, second_count));
    for (int i = 0; i < 2; i++)
        examples[i] = (rgm_str){text[i].data, text[i].size};
    status = rgm_graph_decode_batch(out, schema, examples, 2, NULL,
                                    (const char *[]){"record 0", "record 1"});
    rgm_text_clear(&text[0]);
    rgm_text_clear(&text[1]);
    return status;
}

static void the_bad_example_of_a_batch_is_named_with_its_own_numbers(void **state)
{
    rgm_schema *schema = plain_schema();
    rgm_graph *graph;

    (void)state;
    /* an edge into the neighbour's nodes is inside the merged graph but wrong all the same */
    CHECK_STATUS(
        RGM_ERR_DATA,
        batch_of_two(&graph, schema,
                     FIELDS(I("nodes/a.#size", 1), F("nodes/a.x", 1, 2), I("nodes/b.c/d.#size", 1),
                            I("nodes/b.c/d.u8.z", 3)),
                     FIELDS(I("nodes/a.#size", 1), F("nodes/a.x", 1, 2), I("nodes/b.c/d.#size", 1),
                            I("nodes/b.c/d.u8.z", 3), I("edges/e.#size", 1),
                            I("edges/e.#source", -1), I("edges/e.#target", 0))));
    CHECK_MESSAGE("record 1: edge set 'e': source of edge 0 is -1, but node set 'a' has 1 nodes");
    /* one value too few here and one too many there do not even out */
    CHECK_STATUS(RGM_ERR_DATA,
                 batch_of_two(&graph, schema,
                              FIELDS(I("nodes/b.c/d.#size", 2), I("nodes/b.c/d.u8.z", 1)),
                              FIELDS(I("nodes/b.c/d.#size", 2), I("nodes/b.c/d.u8.z", 1, 2, 3))));
    CHECK_MESSAGE("record 0: 'nodes/b.c/d.u8.z' has 1 values, expected 2");
    CHECK_STATUS(RGM_ERR_DATA,
                 batch_of_two(&graph, schema, FIELDS(I("context/y", 1)), FIELDS(I("other", 1))));
    CHECK_MESSAGE("record 1: 'context/y' is missing, which example 0 of the batch has");
    CHECK_OK(batch_of_two(&graph, schema, FIELDS(I("other", 1)), FIELDS(I("other", 1))));
    CHECK(rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, "y") == NULL);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

/** What a thread decodes, again and again. */
typedef struct work {
    rgm_schema *schema;
    rgm_text text;
    rgm_graph *expected;
    int good;
} work;

static void *decode_often(void *payload)
{
    work *w = payload;

    for (int i = 0; i < 50; i++) {
        rgm_graph *graph;
        if (rgm_graph_decode(&graph, w->schema, w->text.data, w->text.size, NULL, NULL) != RGM_OK)
            break;
        w->good += rgm_tensor_equal(rgm_graph_source(graph, "buys"),
                                    rgm_graph_source(w->expected, "buys"));
        rgm_graph_release(graph);
    }
    return NULL;
}

static void threads_decode_with_one_schema(void **state)
{
    rgm_schema *schema = parse_schema(shop_text);
    work w[4] = {{0}};
    pthread_t thread[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        w[i].schema = schema;
        w[i].expected = i % 2 == 0 ? first_shop(schema) : second_shop(schema);
        CHECK_OK(rgm_graph_encode(&w[i].text, w[i].expected, NULL));
        CHECK_INT(0, pthread_create(&thread[i], NULL, decode_often, &w[i]));
    }
    for (int i = 0; i < 4; i++) {
        CHECK_INT(0, pthread_join(thread[i], NULL));
        CHECK_INT(50, w[i].good);
        rgm_text_clear(&w[i].text);
        rgm_graph_release(w[i].expected);
    }
    rgm_schema_release(schema);
}

/* ---- 300 broken graphs ---- */

/* The shop's fields, of which one gets one fault. */
typedef struct shop_fields {
    rgm_example_field field[10];
    int64_t ints[10][8];
    float floats[10][8];
} shop_fields;

static void make_fields(shop_fields *s, rgm_graph *graph)
{
    rgm_example *example;
    rgm_text text = {0};

    CHECK_OK(rgm_example_create(&example));
    CHECK_OK(rgm_graph_encode(&text, graph, NULL));
    CHECK_OK(rgm_example_decode(example, text.data, text.size));
    CHECK_INT(10, rgm_example_count(example));
    for (int64_t i = 0; i < 10; i++) {
        static const char *const keys[] = {
            "context/label",    "edges/buys.#size",  "edges/buys.#source", "edges/buys.#target",
            "nodes/item.#size", "nodes/item.vec",    "nodes/user.#size",   "nodes/user.age",
            "nodes/user.tags",  "nodes/user.tags.d1"};
        static const rgm_str tags[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}};
        const rgm_example_field *f = rgm_example_find(example, keys[i]);
        CHECK(f != NULL);
        s->field[i] = *f;
        s->field[i].key = (rgm_str){keys[i], (int64_t)strlen(keys[i])};
        if (f->kind == RGM_FEATURE_INTS) {
            memcpy(s->ints[i], f->ints, (size_t)f->count * sizeof(int64_t));
            s->field[i].ints = s->ints[i];
        } else if (f->kind == RGM_FEATURE_FLOATS) {
            memcpy(s->floats[i], f->floats, (size_t)f->count * sizeof(float));
            s->field[i].floats = s->floats[i];
        } else {
            s->field[i].bytes = tags;
        }
    }
    rgm_example_release(example);
    rgm_text_clear(&text);
}

/* Fault number `n`: which field is hit, and how. True if the graph is broken by it. */
static bool break_fields(shop_fields *s, const rgm_rng *rng, uint64_t n, const char **expect)
{
    static const int64_t wild[] = {-1, -2147483649, 2, 3, 2147483647, INT64_MAX, INT64_MIN, 1000};
    uint64_t kind = rgm_rng_below(rng, 4 * n, 6), which = rgm_rng_below(rng, 4 * n + 1, 8);
    uint64_t pick = rgm_rng_below(rng, 4 * n + 2, 10), place = rgm_rng_below(rng, 4 * n + 3, 2);

    switch (kind) {
    case 0: /* a wild source */
        s->ints[2][place] = wild[which];
        *expect = "edge set 'buys': source of edge";
        return true;
    case 1: /* a wild target */
        s->ints[3][place] = wild[which];
        *expect = "edge set 'buys': target of edge";
        return true;
    case 2: /* a value too many or too few, sizes among them: then components disagree */
        s->field[pick].count += place == 0 && s->field[pick].count > 1 ? -1 : 1;
        if (pick == 0) { /* two labels for one component */
            *expect = "'context/label' has 2 values";
            return true;
        }
        *expect = "'";
        return true;
    case 3: /* a size that is not true */
        pick = (uint64_t[]){1, 4, 6}[pick % 3];
        s->ints[pick][0] = wild[which] == s->ints[pick][0] ? 77 : wild[which];
        *expect = "'";
        return true;
    case 4: /* row lengths that lie */
        s->ints[9][place] = wild[which] == s->ints[9][place] ? 5 : wild[which];
        *expect = "'nodes/user.tags";
        return true;
    default: /* another list kind */
        if (s->field[pick].kind == RGM_FEATURE_INTS)
            s->field[pick].floats = s->floats[pick];
        else
            s->field[pick].ints = s->ints[pick];
        s->field[pick].kind =
            s->field[pick].kind == RGM_FEATURE_INTS ? RGM_FEATURE_FLOATS : RGM_FEATURE_INTS;
        *expect = "expected";
        return true;
    }
}

static void three_hundred_broken_graphs_are_refused(void **state)
{
    rgm_schema *schema = parse_schema(shop_text);
    rgm_graph *good = first_shop(schema), *graph;
    rgm_rng rng = rgm_rng_stream(1, "broken graphs", 0);
    int64_t before;

    (void)state;
    for (uint64_t n = 0; n < 300; n++) {
        const char *expect = NULL;
        shop_fields s = {0};
        rgm_text text = {0};
        rgm_status status;
        make_fields(&s, good);
        CHECK(break_fields(&s, &rng, n, &expect));
        CHECK_OK(rgm_example_encode(&text, s.field, 10));
        before = rgm_memory_used();
        rgm_memory_reset_peak();
        status = rgm_graph_decode(&graph, schema, text.data, text.size, NULL, "broken");
        if (status != RGM_ERR_DATA)
            fail_msg("broken graph %llu gave %s", (unsigned long long)n, rgm_status_name(status));
        CHECK(graph == NULL);
        CHECK_MESSAGE("broken: ");
        CHECK_MESSAGE(expect);
        CHECK(rgm_memory_peak() <= before + 65536); /* nothing is allocated on a size's word */
        rgm_text_clear(&text);
    }
    rgm_graph_release(good);
    rgm_schema_release(schema);
}

/* ---- failing allocations ---- */

/* 69 bytes spoke of 200,000,000 nodes without features, and `data stats` counted the degree of
 * each: 1.6 GB. */
static void nodes_of_which_nothing_is_there_are_not_believed(void **state)
{
    rgm_schema *schema = parse_schema("node_sets { key: \"n\" value { } } node_sets { key: \"m\" "
                                      "value { } } edge_sets { key: \"e\" value { source: \"n\" "
                                      "target: \"n\" } }");
    rgm_example_field many[] = {I("edges/e.#size", 1), I("edges/e.#source", 0),
                                I("edges/e.#target", 7), I("nodes/n.#size", 200000000)};
    rgm_example_field both[] = {I("nodes/m.#size", 60000), I("nodes/n.#size", 60000)};
    rgm_example_field few[] = {I("edges/e.#size", 1), I("edges/e.#source", 0),
                               I("edges/e.#target", 7), I("nodes/n.#size", 60000)};
    rgm_tensor *degree;
    rgm_graph *graph;

    (void)state;
    rgm_memory_reset_peak();
    CHECK_STATUS(RGM_ERR_DATA, decode(&graph, schema, many, 4));
    CHECK_MESSAGE(
        "'nodes/n.#size': 200000001 items are declared, but edges and features are there in ");
    CHECK_STATUS(RGM_ERR_DATA, decode(&graph, schema, both, 2)); /* each would do by itself */
    CHECK_MESSAGE(".#size': 120000 items are declared");
    CHECK(rgm_memory_peak() < 1 << 20);
    CHECK_OK(decode(&graph, schema, few, 4));
    CHECK_OK(rgm_graph_node_degree(&degree, graph, "e", RGM_TARGET));
    CHECK_INT(1, rgm_tensor_i64(degree)[7]);
    rgm_tensor_release(degree);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

static rgm_status decode_once(const rgm_text *text)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph *graph = NULL;
    rgm_text again = {0};
    rgm_str two[2] = {{text->data, text->size}, {text->data, text->size}};

    RGM_GO(rgm_schema_parse(&schema, shop_text, (int64_t)strlen(shop_text), "s"));
    RGM_GO(rgm_graph_decode_batch(&graph, schema, two, 2, NULL, NULL));
    RGM_GO(rgm_graph_encode(&again, graph, NULL));
done:
    rgm_text_clear(&again);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    rgm_schema *schema = parse_schema(shop_text);
    rgm_graph *graph = first_shop(schema);
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_graph_encode(&text, graph, NULL));
    CHECK_EVERY_OOM(decode_once(&text), (void)0);
    rgm_text_clear(&text);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

TESTS(cmocka_unit_test(the_shop_is_what_protoc_writes),
      cmocka_unit_test(names_with_dots_and_slashes_are_found),
      cmocka_unit_test(what_is_left_out_is_empty),
      cmocka_unit_test(a_wrong_example_is_refused_with_key_numbers_and_place),
      cmocka_unit_test(numbers_are_never_narrowed_in_silence),
      cmocka_unit_test(any_number_of_ragged_dims_goes_round),
      cmocka_unit_test(a_batch_is_decoded_as_if_merged),
      cmocka_unit_test(the_bad_example_of_a_batch_is_named_with_its_own_numbers),
      cmocka_unit_test(threads_decode_with_one_schema),
      cmocka_unit_test(three_hundred_broken_graphs_are_refused),
      cmocka_unit_test(nodes_of_which_nothing_is_there_are_not_believed),
      cmocka_unit_test(every_failing_allocation_is_survived))
