/*
 * The sections of an experiment file: tables of keys for data and runtime, and the reading of those that
 * begin with a `type` (task, model, optimizer, export).
 */
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

/* ---- data and runtime ---------------------------------------------------------------------- */

#define DATA(member)     offsetof(rgmi_data, member)
#define SAMPLING(member) offsetof(rgmi_sampling, member)
#define CITATION(member) offsetof(rgm_citation_options, member)
#define PADDING(member)  offsetof(rgm_padding, member)
#define MOST             1e15

static const char *const data_types[] = {"ogb", "records", "citation", "folder", NULL};
static const char *const strategies[] = {"top_k", "uniform", "weighted", NULL};
static const char *const stores[] = {"records", "memory", NULL};
static const char *const paddings[] = {"none", "tight", "fit_or_skip", NULL};

static const rgm_field sampling_fields[] = {
    {"sizes", RGM_FIELD_INTS, SAMPLING(sizes), 1, 1e9, NULL, NULL,
     "neighbours drawn at each hop, e.g. [10, 10]"},
    {"edge_sets", RGM_FIELD_TEXTS, SAMPLING(edge_sets), 0, 0, NULL, NULL,
     "edge set of each hop ('<name' is followed backwards); default: the only one"},
    {"strategy", RGM_FIELD_CHOICE, SAMPLING(strategy), 0, 0, strategies, NULL,
     "how neighbours are drawn, without replacement"},
    {"store", RGM_FIELD_CHOICE, SAMPLING(store), 0, 0, stores, NULL,
     "records: one subgraph a seed, sampled once into TFRecords; memory: mini-batches on the fly"},
    {"resample", RGM_FIELD_BOOL, SAMPLING(resample), 0, 0, NULL, NULL,
     "memory: other neighbours each epoch"},
    {0}};

static const rgm_field citation_fields[] = {
    {"nodes", RGM_FIELD_INT, CITATION(nodes), 1, MOST, NULL, NULL, "papers"},
    {"edges", RGM_FIELD_INT, CITATION(edges), 0, MOST, NULL, NULL, "citations, stored both ways"},
    {"classes", RGM_FIELD_INT, CITATION(classes), 2, 1e6, NULL, NULL, "planted communities"},
    {"words", RGM_FIELD_INT, CITATION(words), 1, 1e9, NULL, NULL, "vocabulary"},
    {"words_per_node", RGM_FIELD_INT, CITATION(words_per_node), 1, 1e6, NULL, NULL, "mean"},
    {"dense", RGM_FIELD_INT, CITATION(dense), 0, 1e6, NULL, NULL,
     "width of dense features in place of words"},
    {"homophily", RGM_FIELD_FLOAT, CITATION(homophily), 0, 1, NULL, NULL,
     "share of edges inside a community"},
    {"noise", RGM_FIELD_FLOAT, CITATION(noise), 0, 100, NULL, NULL,
     "share of words that say nothing of the class"},
    {"exponent", RGM_FIELD_FLOAT, CITATION(exponent), 2, 100, NULL, NULL, "of the degrees"},
    {"train_per_class", RGM_FIELD_INT, CITATION(train_per_class), 1, 1e9, NULL, NULL, "labels"},
    {"valid", RGM_FIELD_INT, CITATION(valid), 0, 1e12, NULL, NULL, "validation nodes"},
    {"test", RGM_FIELD_INT, CITATION(test), 0, 1e12, NULL, NULL, "test nodes"},
    {"seed", RGM_FIELD_INT, CITATION(seed), 0, MOST, NULL, NULL, "of the generator"},
    {0}};

static const rgm_field padding_fields[] = {
    {"kind", RGM_FIELD_CHOICE, PADDING(kind), 0, 0, paddings, NULL,
     "tight: nothing is lost; fit_or_skip: batches that do not fit are dropped"},
    {"min_nodes_per_component", RGM_FIELD_INT, PADDING(min_nodes_per_component), 0, 1e6, NULL, NULL,
     "nodes of each set in a component that is padding"},
    {"sample_size", RGM_FIELD_INT, PADDING(sample_size), 1, 1e9, NULL, NULL,
     "fit_or_skip: examples looked at"},
    {"success_ratio", RGM_FIELD_FLOAT, PADDING(success_ratio), 0, 1, NULL, NULL,
     "fit_or_skip: share of batches that shall fit"},
    {0}};

const rgm_field rgmi_data_fields[] = {
    {"type", RGM_FIELD_CHOICE, DATA(type), 0, 0, data_types, NULL,
     "ogb: a folder of raw CSV; folder: one made by `regimen data`; records: TFRecord files; "
     "citation: a generated graph"},
    {"path", RGM_FIELD_TEXT, DATA(path), 0, 0, NULL, NULL, "ogb, folder: the folder"},
    {"split", RGM_FIELD_TEXT, DATA(split), 0, 0, NULL, NULL, "ogb, folder: which split; default: the only one"},
    {"node_set", RGM_FIELD_TEXT, DATA(node_set), 0, 0, NULL, NULL, "ogb, citation: name of the only node set"},
    {"edge_set", RGM_FIELD_TEXT, DATA(edge_set), 0, 0, NULL, NULL, "ogb, citation: name of the only edge set"},
    {"undirected", RGM_FIELD_BOOL, DATA(undirected), 0, 0, NULL, NULL, "ogb: add the reverse of each edge"},
    {"relabel", RGM_FIELD_BOOL, DATA(relabel), 0, 0, NULL, NULL,
     "ogb: number the distinct labels 0, 1, ... in ascending order"},
    {"sparse_below", RGM_FIELD_FLOAT, DATA(sparse_below), 0, 1, NULL, NULL,
     "ogb: 0/1 features with fewer ones are kept sparse"},
    {"schema", RGM_FIELD_TEXT, DATA(schema), 0, 0, NULL, NULL, "records: GraphSchema text file"},
    {"train", RGM_FIELD_TEXT, DATA(train), 0, 0, NULL, NULL, "records: file pattern or name@shards"},
    {"valid", RGM_FIELD_TEXT, DATA(valid), 0, 0, NULL, NULL, "records: likewise"},
    {"test", RGM_FIELD_TEXT, DATA(test), 0, 0, NULL, NULL, "records: likewise"},
    {"shuffle_filenames", RGM_FIELD_BOOL, DATA(shuffle_filenames), 0, 0, NULL, NULL, "records: files in random order"},
    {"cycle_length", RGM_FIELD_INT, DATA(cycle_length), 1, 1e4, NULL, NULL, "records: files read at once"},
    {"max_bad_records", RGM_FIELD_INT, DATA(max_bad_records), 0, MOST, NULL, NULL,
     "records: damaged ones passed over before it is an error"},
    {"batch_size", RGM_FIELD_INT, DATA(batch_size), 1, 1e9, NULL, NULL, "examples a step"},
    {"shuffle_size", RGM_FIELD_INT, DATA(shuffle_size), 0, 1e9, NULL, NULL, "records: shuffle buffer"},
    {"drop_remainder", RGM_FIELD_BOOL, DATA(drop_remainder), 0, 0, NULL, NULL, "drop a last smaller batch"},
    {"train_padding", RGM_FIELD_GROUP, DATA(train_padding), 0, 0, NULL, padding_fields, "of training batches"},
    {"valid_padding", RGM_FIELD_GROUP, DATA(valid_padding), 0, 0, NULL, padding_fields, "of validation batches"},
    {"sampling", RGM_FIELD_GROUP, DATA(sampling), 0, 0, NULL, sampling_fields,
     "train on subgraphs around the split's nodes"},
    {"citation", RGM_FIELD_GROUP, DATA(citation), 0, 0, NULL, citation_fields, "citation: the graph"},
    {0}};

/* ---- sections with a type ------------------------------------------------------------------ */

static const char *const type_key[] = {"type", NULL};

/* The `type` of a section; an error that lists the names when it is none of them. */
static rgm_status read_type(const char **out, const rgm_yaml_node *section, const char *path,
                            const char *const *names, int64_t count)
{
    const rgm_yaml_node *type = rgm_yaml_find(section, "type");
    rgm_text list = {0};
    rgm_status status;

    if (type != NULL && type->kind == RGM_YAML_SCALAR)
        for (int64_t i = 0; i < count; i++)
            if (strcmp(type->text, names[i]) == 0) {
                *out = type->text;
                return RGM_OK;
            }
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(rgm_text_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]));
    status = type == NULL ? rgm_yaml_fail(section, "%s.type is missing; it is one of %s", path, list.data)
                          : rgm_yaml_fail(type, "%s.type '%s' is unknown; it is one of %s", path,
                                          type->kind == RGM_YAML_SCALAR ? type->text : "",
                                          list.data);
    rgm_text_clear(&list);
    return status;
}

static rgm_status read_task(rgm_gnn_task *task, rgm_experiment *e, const rgm_yaml_node *section,
                            const char *path, const char *const *also)
{
    int64_t count;
    const rgm_gnn_task_type *const *types = rgm_gnn_task_types(&count);
    const char *names[32], *name;

    for (int64_t i = 0; i < count && i < 32; i++)
        names[i] = types[i]->name;
    RGM_TRY(read_type(&name, section, path, names, count));
    task->type = rgm_gnn_task_find(name);
    rgm_classification_defaults(&task->options);
    return rgm_options_read(&task->options, task->type->fields, section, path, also, e->arena);
}

static rgm_status read_tasks(rgm_experiment *e, const rgm_yaml_node *root)
{
    static const char *const also[] = {"type", "loss_weight", NULL};
    const rgm_yaml_node *one = rgm_yaml_find(root, "task"), *many = rgm_yaml_find(root, "tasks");

    if ((one != NULL) == (many != NULL))
        return rgm_yaml_fail(many != NULL ? many : root,
                             "exactly one of the sections 'task' and 'tasks' is needed");
    if (one != NULL) {
        e->task_count = 1;
        e->loss_weights[0] = 1;
        return read_task(&e->tasks[0], e, one, "task", type_key);
    }
    if (many->kind != RGM_YAML_MAP || many->count < 1 || many->count > RGM_MAX_HEADS)
        return rgm_yaml_fail(many, "tasks is a map of 1 to %d named tasks", RGM_MAX_HEADS);
    for (int64_t i = 0; i < many->count; i++) {
        const rgm_yaml_node *section = many->items[i];
        const rgm_yaml_node *weight = rgm_yaml_find(section, "loss_weight");
        char path[128];

        snprintf(path, sizeof path, "tasks.%s", section->key);
        e->tasks[i].name = section->key;
        e->loss_weights[i] = 1;
        if (weight != NULL)
            RGM_TRY(rgm_yaml_float(&e->loss_weights[i], weight));
        RGM_TRY(read_task(&e->tasks[i], e, section, path, also));
    }
    e->task_count = many->count;
    return RGM_OK;
}

static rgm_status read_model(rgm_experiment *e, const rgm_yaml_node *root)
{
    int64_t count;
    const rgm_model_type *const *types = rgm_model_types(&count);
    const rgm_yaml_node *section = rgm_yaml_find(root, "model");
    const char *names[64], *name;

    if (section == NULL)
        return rgm_yaml_fail(root, "the section 'model' is missing");
    for (int64_t i = 0; i < count && i < 64; i++)
        names[i] = types[i]->name;
    RGM_TRY(read_type(&name, section, "model", names, count));
    e->model = rgm_model_find(name);
    e->model_options = rgm_arena_alloc(e->arena, e->model->options_size);
    if (e->model_options == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the model's options");
    e->model->defaults(e->model_options);
    return rgm_options_read(e->model_options, e->model->fields, section, "model", type_key,
                            e->arena);
}

static rgm_status read_exports(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *list = rgm_yaml_find(root, "export");

    if (list == NULL)
        return RGM_OK;
    if (list->kind != RGM_YAML_LIST || list->count > 8)
        return rgm_yaml_fail(list, "export is a list of up to 8 exporters, e.g. [{type: onnx}]");
    for (int64_t i = 0; i < list->count; i++) {
        static const char *const names[] = {"onnx"};
        static const rgm_field none[] = {{0}};
        const char *name;

        RGM_TRY(read_type(&name, list->items[i], "export", names, 1));
        RGM_TRY(rgm_options_read(e, none, list->items[i], "export", type_key, e->arena));
        e->exporters[i] = rgm_onnx_exporter();
    }
    e->exporter_count = list->count;
    return RGM_OK;
}

/* ---- all of them --------------------------------------------------------------------------- */

static const char *const sections[] = {"data",    "task",    "tasks",  "model",      "optimizer",
                                       "trainer", "runtime", "export", "description"};
#define SECTIONS (int64_t)(sizeof sections / sizeof *sections)

/* The section that was meant: by its own name, or by "section.key", which says more. */
static const char *nearest_section(const rgm_yaml_node *section)
{
    const char *near = rgm_nearest_name(section->key, sections, SECTIONS);
    char wrong[128], right[SECTIONS][128];
    const char *names[SECTIONS];

    if (near != NULL || section->kind != RGM_YAML_MAP || section->count == 0)
        return near;
    snprintf(wrong, sizeof wrong, "%s.%s", section->key, section->items[0]->key);
    for (int64_t i = 0; i < SECTIONS; i++) {
        snprintf(right[i], sizeof right[i], "%s.%s", sections[i], section->items[0]->key);
        names[i] = right[i];
    }
    near = rgm_nearest_name(wrong, names, SECTIONS);
    for (int64_t i = 0; i < SECTIONS; i++)
        if (near == names[i])
            return sections[i];
    return NULL;
}

static rgm_status check_sections(const rgm_yaml_node *root)
{
    if (root->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(root, "an experiment file is a map of sections");
    for (int64_t i = 0; i < root->count; i++) {
        const rgm_yaml_node *section = root->items[i];
        bool found = false;
        const char *near;

        for (int64_t k = 0; k < SECTIONS; k++)
            found |= strcmp(section->key, sections[k]) == 0;
        if (found)
            continue;
        near = nearest_section(section);
        if (near != NULL)
            return rgm_yaml_fail(section, "unknown section '%s'; did you mean '%s'?", section->key,
                                 near);
        return rgm_yaml_fail(section,
                             "unknown section '%s'; there are data, task, tasks, model, optimizer, "
                             "trainer, runtime, export, description",
                             section->key);
    }
    return RGM_OK;
}

static void data_defaults(rgmi_data *data)
{
    *data = (rgmi_data){
        .undirected = true,
        .sparse_below = 0.1,
        .cycle_length = 1,
        .batch_size = 1,
        .train_padding = RGM_PADDING_INIT,
        .valid_padding = RGM_PADDING_INIT,
        .sampling = {.strategy = RGM_SAMPLE_UNIFORM, .resample = true},
        .citation = RGM_CITATION_OPTIONS_INIT,
    };
}

rgm_status rgmi_sections_read(rgm_experiment *e)
{
    const rgm_yaml_node *root = rgm_yaml_root(e->yaml);

    RGM_TRY(check_sections(root));
    if (rgm_yaml_find(root, "data") == NULL)
        return rgm_yaml_fail(root, "the section 'data' is missing");
    data_defaults(&e->data);
    rgm_trainer_defaults(&e->trainer);
    rgm_runtime_defaults(&e->runtime);
    RGM_TRY(rgm_options_read(&e->data, rgmi_data_fields, rgm_yaml_find(root, "data"), "data", NULL,
                             e->arena));
    RGM_TRY(read_tasks(e, root));
    RGM_TRY(read_model(e, root));
    RGM_TRY(rgm_optimizer_options_read(&e->optimizer, rgm_yaml_find(root, "optimizer"), e->arena));
    RGM_TRY(rgm_options_read(&e->trainer, rgm_trainer_fields, rgm_yaml_find(root, "trainer"),
                             "trainer", NULL, e->arena));
    RGM_TRY(rgm_options_read(&e->runtime, rgm_runtime_fields, rgm_yaml_find(root, "runtime"),
                             "runtime", NULL, e->arena));
    return read_exports(e, root);
}
