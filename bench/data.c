/*
 * The data that both sides read: random graphs in a safetensors file, and records. Made once in a
 * run of the driver, so that ours and the peer see the same edges, features and labels.
 */
#include "bench.h"

#include <math.h>
#include <regimen/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double bench_number(char **words, int count, const char *key, double otherwise)
{
    size_t size = strlen(key);

    for (int i = 0; i < count; i++)
        if (strncmp(words[i], key, size) == 0 && words[i][size] == '=')
            return strtod(words[i] + size + 1, NULL);
    return otherwise;
}

/* ---- making a graph ------------------------------------------------------------------------ */

enum { SOURCE, TARGET, LABEL, TRAIN, WORDS_START, WORDS, FEAT, PARTS };
static const char *const part_names[PARTS] = {"source",      "target", "label", "train",
                                              "words_start", "words",  "feat"};

static rgm_status ints(rgm_tensor **out, int64_t count)
{
    return rgm_tensor_create(out, RGM_I64, 1, &count);
}

/* `pairs` edges stored both ways; one end uniform, the other r^(1+skew) of a random order. */
static rgm_status make_edges(rgm_tensor **part, int64_t nodes, int64_t pairs, double skew)
{
    rgm_rng rng = rgm_rng_stream(1, "edges", 0), order = rgm_rng_stream(1, "order", 0);
    int64_t *place = NULL, *source, *target;

    RGM_TRY(ints(&part[SOURCE], 2 * pairs));
    RGM_TRY(ints(&part[TARGET], 2 * pairs));
    RGM_TRY(RGM_NEW(place, nodes));
    rgm_rng_permutation(&order, place, nodes);
    source = rgm_tensor_i64(part[SOURCE]);
    target = rgm_tensor_i64(part[TARGET]);
    for (int64_t e = 0; e < pairs; e++) {
        int64_t u = (int64_t)rgm_rng_below(&rng, (uint64_t)e, (uint64_t)nodes);
        double r = rgm_rng_f64(&rng, (uint64_t)(2 * pairs + e));
        int64_t v = (int64_t)(pow(r, 1 + skew) * (double)nodes);

        v = place[v < nodes ? v : nodes - 1];
        source[e] = target[pairs + e] = u;
        target[e] = source[pairs + e] = v;
    }
    rgm_free(place);
    return RGM_OK;
}

static rgm_status make_labels(rgm_tensor **part, int64_t nodes, int64_t classes, int64_t train)
{
    rgm_rng rng = rgm_rng_stream(1, "labels", 0), order = rgm_rng_stream(1, "train", 0);
    int64_t *all = NULL;

    RGM_TRY(ints(&part[LABEL], nodes));
    RGM_TRY(ints(&part[TRAIN], train));
    for (int64_t i = 0; i < nodes; i++)
        rgm_tensor_i64(part[LABEL])[i] =
            (int64_t)rgm_rng_below(&rng, (uint64_t)i, (uint64_t)classes);
    RGM_TRY(RGM_NEW(all, nodes));
    rgm_rng_permutation(&order, all, nodes);
    memcpy(rgm_tensor_data(part[TRAIN]), all, (size_t)train * sizeof *all);
    rgm_free(all);
    return RGM_OK;
}

/* Each word of a node with probability `share`, at least one. */
static rgm_status make_words(rgm_tensor **part, int64_t nodes, int64_t vocabulary, double share)
{
    rgm_rng rng = rgm_rng_stream(1, "words", 0);
    int64_t *start, *words = NULL, capacity = 0, count = 0;
    rgm_status status = RGM_OK;

    RGM_GO(ints(&part[WORDS_START], nodes + 1));
    start = rgm_tensor_i64(part[WORDS_START]);
    for (int64_t i = 0; i < nodes; i++) {
        RGM_GO(RGM_RESERVE(words, capacity, count + vocabulary));
        for (int64_t w = 0; w < vocabulary; w++)
            if (rgm_rng_f64(&rng, (uint64_t)(i * vocabulary + w)) < share)
                words[count++] = w;
        if (count == start[i])
            words[count++] = i % vocabulary;
        start[i + 1] = count;
    }
    RGM_GO(rgm_tensor_create_from(&part[WORDS], RGM_I64, 1, &count, words));
done:
    rgm_free(words);
    return status;
}

static rgm_status make_features(rgm_tensor **part, int64_t nodes, int64_t width)
{
    rgm_rng rng = rgm_rng_stream(1, "features", 0);
    int64_t shape[] = {nodes, width};
    float *x;

    RGM_TRY(rgm_tensor_create(&part[FEAT], RGM_F32, 2, shape));
    x = rgm_tensor_f32(part[FEAT]);
    for (int64_t i = 0; i < nodes * width; i++) /* variance 1 */
        x[i] = (rgm_rng_f32(&rng, (uint64_t)i) - 0.5f) * 3.4641016f;
    return RGM_OK;
}

rgm_status bench_make(const char *path, char **words, int count)
{
    rgm_status status = RGM_OK;
    rgm_tensor *part[PARTS] = {NULL};
    rgm_named_tensor named[PARTS];
    int64_t nodes = (int64_t)bench_number(words, count, "nodes", 2708), parts = 0;
    int64_t vocabulary = (int64_t)bench_number(words, count, "words", 0);
    int64_t width = (int64_t)bench_number(words, count, "feat", 0);
    int64_t classes = (int64_t)bench_number(words, count, "classes", 7);
    int64_t train = (int64_t)bench_number(words, count, "train", 140);
    char sizes[2][32];
    const char *metadata[] = {"classes", sizes[0], "vocabulary", sizes[1]};

    if (nodes < 1 || train < 1 || train > nodes || classes < 2)
        return RGM_FAIL(RGM_ERR_ARG, "%lld nodes, %lld of them for training, %lld classes",
                        (long long)nodes, (long long)train, (long long)classes);
    RGM_GO(make_edges(part, nodes, (int64_t)bench_number(words, count, "pairs", 5429),
                      bench_number(words, count, "skew", 0.5)));
    RGM_GO(make_labels(part, nodes, classes, train));
    if (vocabulary > 0)
        RGM_GO(make_words(part, nodes, vocabulary, bench_number(words, count, "share", 0.0127)));
    if (width > 0)
        RGM_GO(make_features(part, nodes, width));
    for (int i = 0; i < PARTS; i++)
        if (part[i] != NULL)
            named[parts++] = (rgm_named_tensor){part_names[i], part[i]};
    snprintf(sizes[0], sizeof sizes[0], "%lld", (long long)classes);
    snprintf(sizes[1], sizeof sizes[1], "%lld", (long long)vocabulary);
    RGM_GO(rgm_safetensors_save(path, named, parts, metadata, 2));
done:
    for (int i = 0; i < PARTS; i++)
        rgm_tensor_release(part[i]);
    return status;
}

/* ---- reading it ---------------------------------------------------------------------------- */

static rgm_status part_of(rgm_tensor **out, const rgm_safetensors *file, const char *name)
{
    for (int64_t i = 0; i < rgm_safetensors_count(file); i++)
        if (strcmp(rgm_safetensors_name(file, i), name) == 0)
            return rgm_safetensors_get(out, file, name);
    *out = NULL;
    return RGM_OK;
}

static int64_t size_of(const rgm_safetensors *file, const char *key)
{
    const char *text = rgm_safetensors_metadata(file, key);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

rgm_status bench_data_load(bench_data *data, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_safetensors *file = NULL;
    rgm_tensor **part[] = {&data->source,      &data->target, &data->label, &data->train,
                           &data->words_start, &data->words,  &data->feat};

    *data = (bench_data){0};
    RGM_GO(rgm_safetensors_open(&file, path));
    for (int i = 0; i < PARTS; i++)
        RGM_GO(part_of(part[i], file, part_names[i]));
    if (data->source == NULL || data->target == NULL || data->label == NULL || data->train == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s is not of `regimen_bench make`", path));
    data->nodes = rgm_tensor_count(data->label);
    data->edges = rgm_tensor_count(data->source);
    data->classes = size_of(file, "classes");
    data->vocabulary = size_of(file, "vocabulary");
done:
    rgm_safetensors_close(file);
    return status;
}

void bench_data_clear(bench_data *data)
{
    rgm_tensor_release(data->source);
    rgm_tensor_release(data->target);
    rgm_tensor_release(data->label);
    rgm_tensor_release(data->train);
    rgm_tensor_release(data->words_start);
    rgm_tensor_release(data->words);
    rgm_tensor_release(data->feat);
    *data = (bench_data){0};
}

static rgm_status make_schema(rgm_schema **out, const bench_data *data, bool features)
{
    int64_t ragged = -1, width = data->feat != NULL ? rgm_tensor_dim(data->feat, 1) : 0;

    RGM_TRY(rgm_schema_create(out));
    RGM_TRY(rgm_schema_add_node_set(*out, "nodes"));
    RGM_TRY(rgm_schema_add_edge_set(*out, "edges", "nodes", "nodes"));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "label", RGM_I64, 0, NULL));
    if (features && data->words != NULL) {
        RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "words", RGM_I64, 1, &ragged));
        RGM_TRY(rgm_schema_set_one_hot(*out, RGM_NODE_SET, "nodes", "words", data->vocabulary));
    }
    if (features && data->feat != NULL)
        RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "feat", RGM_F32, 1, &width));
    return RGM_OK;
}

static rgm_status add_words(rgm_graph_builder *builder, const bench_data *data)
{
    rgm_status status = RGM_OK;
    rgm_feature words = {.values = data->words};
    const int64_t *start = rgm_tensor_i64(data->words_start);

    RGM_GO(ints(&words.row_lengths[1], data->nodes));
    for (int64_t i = 0; i < data->nodes; i++)
        rgm_tensor_i64(words.row_lengths[1])[i] = start[i + 1] - start[i];
    RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, "nodes", "words", &words));
done:
    rgm_tensor_release(words.row_lengths[1]);
    return status;
}

rgm_status bench_data_graph(rgm_graph **out, const bench_data *data, bool features)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph_builder *builder = NULL;
    rgm_feature label = {.values = data->label}, feat = {.values = data->feat};

    *out = NULL;
    RGM_GO(make_schema(&schema, data, features));
    RGM_GO(rgm_graph_builder_create(&builder, schema, 1));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "nodes", &data->nodes));
    RGM_GO(rgm_graph_builder_edges(builder, "edges", data->source, data->target));
    RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, "nodes", "label", &label));
    if (features && data->words != NULL)
        RGM_GO(add_words(builder, data));
    if (features && data->feat != NULL)
        RGM_GO(rgm_graph_builder_feature(builder, RGM_NODE_SET, "nodes", "feat", &feat));
    RGM_GO(rgm_graph_builder_finish(out, builder));
done:
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return status;
}

/* ---- records ------------------------------------------------------------------------------- */

static rgm_status add_record(void *payload, int64_t i, rgm_graph *graph, const rgm_text *record)
{
    (void)i;
    (void)graph;
    return rgm_tfrecord_writer_add(payload, record->data, record->size);
}

rgm_status bench_records_schema(rgm_schema **out)
{
    int64_t width = 128;

    RGM_TRY(rgm_schema_create(out));
    RGM_TRY(rgm_schema_add_node_set(*out, "nodes"));
    RGM_TRY(rgm_schema_add_node_set(*out, "_readout"));
    RGM_TRY(rgm_schema_add_edge_set(*out, "edges", "nodes", "nodes"));
    RGM_TRY(rgm_schema_add_edge_set(*out, "_readout/seed", "nodes", "_readout"));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "feat", RGM_F32, 1, &width));
    RGM_TRY(rgm_schema_add_feature(*out, RGM_NODE_SET, "nodes", "#id", RGM_I64, 0, NULL));
    return rgm_schema_add_feature(*out, RGM_NODE_SET, "_readout", "label", RGM_I64, 0, NULL);
}

/* PATH.pbtxt, which the peer reads. */
static rgm_status save_records_schema(const char *path)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_text name = {0};

    RGM_GO(bench_records_schema(&schema));
    RGM_GO(rgm_text_printf(&name, "%s.pbtxt", path));
    RGM_GO(rgm_schema_save(schema, name.data));
done:
    rgm_text_clear(&name);
    rgm_schema_release(schema);
    return status;
}

rgm_status bench_make_records(const char *path, const char *data_path, char **words, int count)
{
    rgm_status status = RGM_OK;
    bench_data data = {0};
    rgm_graph *graph = NULL;
    rgm_sampling_spec *spec = NULL;
    rgm_sampler *sampler = NULL;
    rgm_tfrecord_writer *writer = NULL;
    rgm_sampler_run_options run = RGM_SAMPLER_RUN_OPTIONS_INIT;
    const char *hops[] = {"<edges", "<edges"};
    int64_t sizes[] = {(int64_t)bench_number(words, count, "hop1", 5),
                       (int64_t)bench_number(words, count, "hop2", 5)};
    int64_t records = (int64_t)bench_number(words, count, "records", 8192), *seeds = NULL;

    RGM_GO(bench_data_load(&data, data_path));
    RGM_GO(bench_data_graph(&graph, &data, true));
    RGM_GO(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), "nodes", hops, sizes, 2,
                                    RGM_SAMPLE_UNIFORM));
    RGM_GO(rgm_sampler_create(&sampler, graph, spec, 1));
    RGM_GO(rgm_tfrecord_writer_open(&writer, path, NULL));
    RGM_GO(RGM_NEW(seeds, records));
    for (int64_t i = 0; i < records; i++)
        seeds[i] = i % data.nodes;
    run.encode = true;
    run.label = "label";
    RGM_GO(rgm_sampler_run(sampler, seeds, records, &run, add_record, writer));
    RGM_GO(rgm_tfrecord_writer_finish(writer));
    RGM_GO(save_records_schema(path));
done:
    rgm_free(seeds);
    rgm_tfrecord_writer_close(writer);
    rgm_sampler_release(sampler);
    rgm_sampling_spec_release(spec);
    rgm_graph_release(graph);
    bench_data_clear(&data);
    return status;
}
