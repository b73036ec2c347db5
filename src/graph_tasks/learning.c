/*
 * Graph learning as a task of the training core: made from C or from an experiment file, trained by
 * rgm_run(). The order of checks is that of the TF-GNN runner; the loop is not here.
 */
#include <math.h>

#include "learning.h"

/* ---- arguments ----------------------------------------------------------------------------- */

static rgm_status check_tasks(const rgm_graph_learning_options *o)
{
    if (o->task_count > RGM_MAX_HEADS)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld tasks, at most %d can be trained together",
                        (long long)o->task_count, RGM_MAX_HEADS);
    if ((o->task != NULL) == (o->task_count > 0))
        return RGM_FAIL(RGM_ERR_CONFIG, "exactly one of `task` and `tasks` is needed");
    for (int64_t i = 0; i < o->task_count; i++) {
        if (o->tasks[i] == NULL || o->tasks[i]->name == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "task %lld of several needs a type and a name",
                            (long long)i);
        if (strlen(o->tasks[i]->name) >= sizeof((rgm_head *)NULL)->name)
            return RGM_FAIL(RGM_ERR_CONFIG, "the task name '%s' has more than %zu characters",
                            o->tasks[i]->name, sizeof((rgm_head *)NULL)->name - 1);
        for (int64_t j = 0; j < i; j++)
            if (strcmp(o->tasks[i]->name, o->tasks[j]->name) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "two tasks are named '%s'", o->tasks[i]->name);
    }
    if ((o->loss_weights != NULL || o->learned_weights != NULL) && o->task_count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s go with several tasks",
                        o->loss_weights != NULL ? "loss_weights" : "learned_weights");
    for (int64_t i = 0; o->loss_weights != NULL && i < o->task_count; i++)
        if (!(o->loss_weights[i] >= 0 && isfinite(o->loss_weights[i])))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "loss_weights[%lld], of task '%s', is %g, but must be finite and at "
                            "least 0",
                            (long long)i, o->tasks[i]->name, o->loss_weights[i]);
    for (int64_t i = 0; o->learned_weights != NULL && i < o->task_count; i++)
        if (o->learned_weights[i] && o->loss_weights != NULL && o->loss_weights[i] != 1)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "loss_weights[%lld], of task '%s', is %g, but its weight is learned",
                            (long long)i, o->tasks[i]->name, o->loss_weights[i]);
    return RGM_OK;
}

/* Mini-batches have a size already. */
static rgm_status check_batches(const rgm_graph_learning_options *o)
{
    const rgm_provider *providers[3] = {o->train_data, o->valid_data, o->test_data};

    if (o->global_batch_size < 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "global_batch_size is %lld, at least 1 is needed",
                        (long long)o->global_batch_size);
    if (o->global_batch_size > 1 || o->drop_remainder)
        for (int mode = 0; mode < 3; mode++)
            if (providers[mode] != NULL && rgmi_provider_is_batched(providers[mode]))
                return RGM_FAIL(RGM_ERR_CONFIG,
                                "%s is set, but the %s data come in mini-batches of their own: "
                                "their provider's options say which",
                                o->drop_remainder ? "drop_remainder" : "global_batch_size",
                                rgm_mode_name((rgm_mode)mode));
    return RGM_OK;
}

/* What a budget does not go with. */
static rgm_status check_budgets(const rgm_graph_learning_options *o)
{
    const rgm_padding_kind kinds[2] = {o->train_padding.kind, o->valid_padding.kind};

    if (o->batch_nodes < 0 || o->batch_edges < 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "batch_nodes is %lld and batch_edges %lld, at least 0",
                        (long long)o->batch_nodes, (long long)o->batch_edges);
    if (o->batch_nodes == 0 && o->batch_edges == 0)
        return RGM_OK;
    if (rgmi_provider_is_batched(o->train_data))
        return RGM_FAIL(RGM_ERR_CONFIG, "batch_nodes or batch_edges is set, but the training data "
                                        "come in mini-batches of their own");
    if (o->processor_count > 0 && !rgmi_provider_is_in_memory(o->train_data))
        return RGM_FAIL(RGM_ERR_CONFIG, "batch_nodes and batch_edges are of examples as records "
                                        "have them, but processors make others of these: graphs "
                                        "in memory (data.type folder) go with both");
    for (int i = 0; i < 2; i++)
        if (kinds[i] == RGM_PADDING_FIT ||
            (kinds[i] == RGM_PADDING_TIGHT && o->global_batch_size == 1))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "batches by nodes or edges are padded to these: padding is tight, with "
                            "a batch_size above 1, the most graphs of a batch");
    if (o->drop_remainder)
        return RGM_FAIL(RGM_ERR_CONFIG, "drop_remainder: batches by nodes or edges are of no fixed "
                                        "number of examples, and none is dropped");
    return RGM_OK;
}

static rgm_status check_sets(const rgm_graph_learning_options *o)
{
    rgm_provider *own[3] = {o->train_data, o->valid_data, o->test_data};

    if (o->eval_set_count < 0 || o->eval_set_count > RGM_MAX_EVAL_SETS)
        return RGM_FAIL(RGM_ERR_CONFIG, "eval_set_count is %lld, %d sets are the most",
                        (long long)o->eval_set_count, RGM_MAX_EVAL_SETS);
    for (int64_t i = 0; i < o->eval_set_count; i++) {
        const rgm_graph_eval_set *set = &o->eval_sets[i];

        if (set->name == NULL || set->data == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "eval_sets[%lld] needs a name and data", (long long)i);
        if ((set->mode != RGM_VALID && set->mode != RGM_TEST) || own[set->mode] == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "eval_sets[%lld], '%s', stands beside validation or test data that "
                            "there are",
                            (long long)i, set->name);
        if (rgmi_provider_is_batched(set->data) != rgmi_provider_is_batched(own[set->mode]))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "eval_sets[%lld], '%s': either it or the %s data come in mini-batches "
                            "of their own: both or neither",
                            (long long)i, set->name, rgm_mode_name(set->mode));
        for (int64_t j = 0; j < i; j++)
            if (set->mode == o->eval_sets[j].mode && strcmp(set->name, o->eval_sets[j].name) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "two sets of %s data are named '%s'",
                                rgm_mode_name(set->mode), set->name);
    }
    return RGM_OK;
}

static rgm_status check_arguments(const rgm_graph_learning_options *o)
{
    if (o->train_data == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "train_data is NULL%s%s",
                        rgm_error_message()[0] != '\0' ? ": " : "", rgm_error_message());
    if (o->model_fn == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "model_fn is NULL");
    if (o->schema == NULL && rgm_provider_schema(o->train_data) == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "schema is NULL and the provider does not know it");
    RGM_TRY(check_batches(o));
    RGM_TRY(check_budgets(o));
    RGM_TRY(check_sets(o));
    if (o->valid_data == NULL && o->valid_padding.kind != RGM_PADDING_NONE)
        return RGM_FAIL(RGM_ERR_CONFIG, "valid_padding is set but there are no validation data");
    return check_tasks(o);
}

/* ---- putting it together ------------------------------------------------------------------- */

static rgm_status copy_processors(rgmi_learning *learning, const rgm_graph_processor *processors,
                                  int64_t count)
{
    RGM_TRY(RGM_NEW(learning->processors, count));
    RGM_TRY(RGM_NEW(learning->processed, count));
    learning->processor_count = count;
    for (int64_t i = 0; i < count; i++) {
        if (processors[i].type == NULL || processors[i].type->process == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "processor %lld has no type, or it no function",
                            (long long)i);
        learning->processors[i] = processors[i];
    }
    return rgmi_processors_schema(&learning->processed_schema, learning->schema,
                                  learning->processors, count);
}

/* Graphs in memory behind the processors that draw nothing, which need not be asked again. */
static rgm_status process_provider(rgm_provider **provider, rgmi_learning *learning,
                                   rgmi_pipeline *pipeline, bool told)
{
    int64_t fixed = rgmi_processors_fixed(learning->processors, learning->processor_count);
    rgm_provider *processed = NULL;

    *pipeline = learning->asked;
    if (*provider == NULL || fixed == 0)
        return RGM_OK;
    RGM_TRY(rgmi_provider_process(&processed, *provider, learning->processors, fixed,
                                  told ? learning->processed : NULL));
    if (processed != *provider) {
        pipeline->schema = learning->processed_schema;
        pipeline->processors += fixed;
        pipeline->processor_count -= fixed;
    }
    rgm_provider_release(*provider);
    *provider = processed;
    return RGM_OK;
}

static rgm_status process_providers(rgmi_learning *learning)
{
    rgm_status status;

    for (int mode = 0; mode < 3; mode++) {
        status = process_provider(&learning->providers[mode], learning, &learning->pipelines[mode],
                                  mode == RGM_TRAIN);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "%s data", rgm_mode_name((rgm_mode)mode));
    }
    for (int64_t i = 0; i < learning->set_count; i++) {
        rgmi_graph_eval_data *set = &learning->sets[i];

        status = process_provider(&set->provider, learning, &set->pipeline, false);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "the set '%s'", set->name);
    }
    return RGM_OK;
}

static rgm_status copy_arguments(rgmi_learning *learning, const rgm_graph_learning_options *o)
{
    rgm_provider *providers[3] = {o->train_data, o->valid_data, o->test_data};

    for (int mode = 0; mode < 3; mode++)
        learning->providers[mode] = rgm_provider_retain(providers[mode]);
    learning->schema =
        rgm_schema_retain(o->schema != NULL ? o->schema : rgm_provider_schema(o->train_data));
    learning->task_count = o->task_count > 0 ? o->task_count : 1;
    for (int64_t k = 0; k < learning->task_count; k++) {
        learning->tasks[k] = rgm_graph_task_retain(o->task_count > 0 ? o->tasks[k] : o->task);
        learning->loss_weights[k] = o->loss_weights != NULL ? o->loss_weights[k] : 1;
        learning->learns_weight[k] = o->learned_weights != NULL && o->learned_weights[k];
    }
    learning->model_fn = o->model_fn;
    learning->model_payload = o->model_payload;
    learning->input = o->input;
    learning->learned = rgm_learned_features_retain(o->learned);
    learning->batch_size = o->global_batch_size;
    learning->drop_remainder = o->drop_remainder;
    return copy_processors(learning, o->processors, o->processor_count);
}

static rgm_status copy_sets(rgmi_learning *learning, const rgm_graph_learning_options *o)
{
    for (int64_t i = 0; i < o->eval_set_count; i++) {
        rgmi_graph_eval_data *set = &learning->sets[i];

        set->mode = o->eval_sets[i].mode;
        set->provider = rgm_provider_retain(o->eval_sets[i].data);
        learning->set_count = i + 1;
        RGM_TRY(rgm_strdup(&set->name, o->eval_sets[i].name));
    }
    return RGM_OK;
}

static rgm_status open_padding(rgmi_learning *learning, const rgm_graph_learning_options *o,
                               uint64_t seed)
{
    static const char *const keys[2] = {"data.train_padding", "data.valid_padding"};
    const rgm_padding *padding[2] = {&o->train_padding, &o->valid_padding};

    for (int mode = RGM_TRAIN; mode <= RGM_VALID; mode++)
        if (learning->providers[mode] != NULL)
            RGM_TRY(rgmi_pipeline_padding(&learning->pipelines[mode], learning->processed_schema,
                                          learning->providers[mode], padding[mode],
                                          learning->batch_size, seed, keys[mode]));
    for (int64_t i = 0; i < learning->set_count; i++)
        if (learning->sets[i].mode == RGM_VALID)
            RGM_TRY(rgmi_pipeline_padding(&learning->sets[i].pipeline, learning->processed_schema,
                                          learning->sets[i].provider, &o->valid_padding,
                                          learning->batch_size, seed, keys[RGM_VALID]));
    return RGM_OK;
}

/* Of graphs as they come. */
static void open_asked(rgmi_learning *learning)
{
    learning->asked = (rgmi_pipeline){.schema = learning->schema,
                                      .input = learning->input,
                                      .processors = learning->processors,
                                      .processor_count = learning->processor_count,
                                      .tasks = learning->tasks,
                                      .task_count = learning->task_count};
}

/* What is trained or judged has sound labels; what is predicted needs none. */
static void open_checks(rgmi_learning *learning)
{
    for (int mode = 0; mode < 3; mode++) {
        rgmi_pipeline *pipeline = &learning->pipelines[mode];

        pipeline->together = learning->providers[mode] != NULL &&
                             rgmi_provider_is_batched(learning->providers[mode]);
        learning->unpadded[mode] = *pipeline;
        pipeline->judged = true;
    }
    learning->pipelines[RGM_TRAIN].ahead = learning->ahead;
    for (int64_t i = 0; i < learning->set_count; i++) {
        rgmi_pipeline *pipeline = &learning->sets[i].pipeline;

        pipeline->together = rgmi_provider_is_batched(learning->sets[i].provider);
        pipeline->judged = true;
    }
}

/* What the model's encoders take of the training part, unless it was learned before. */
static rgm_status learn_features(rgmi_learning *learning)
{
    if (learning->input == NULL || learning->learned != NULL)
        return RGM_OK;
    return rgmi_features_learn(&learning->learned, learning->input, learning->processed_schema,
                               &learning->pipelines[RGM_TRAIN], learning->providers[RGM_TRAIN]);
}

/* Loops have features of 0, and so would have labels that nobody gave. */
static rgm_status check_loops(const rgmi_learning *learning, const rgm_graph_task *task)
{
    rgm_piece piece;
    const char *set, *of;

    rgmi_graph_task_items(&piece, &set, task, learning->processed_schema);
    for (int64_t i = 0; i < learning->processor_count && piece == RGM_EDGE_SET; i++)
        if (rgmi_adds_loops(&of, &learning->processors[i]) && (of == NULL || strcmp(of, set) == 0))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "processor '%s' adds edges to '%s' that have no label, and %s asks "
                            "about each edge there: leave it out (model.self_loops adds loops "
                            "where messages are sent alone)",
                            learning->processors[i].type->section.name, set,
                            task->type->section.name);
    return RGM_OK;
}

/* A node finds its embedding by its number, which is its place where there is no "#id". */
static rgm_status check_places(const rgmi_learning *learning)
{
    for (int64_t i = 0; i < learning->processor_count; i++) {
        const char *of;

        if (!rgmi_moves_nodes(&of, &learning->processors[i]))
            continue;
        for (int64_t k = 0; k < rgm_schema_set_count(learning->processed_schema); k++) {
            const rgm_set_schema *set = rgm_schema_set(learning->processed_schema, k);

            if (rgm_learned_features_nodes(learning->learned, set->name) < 0 ||
                set->piece != RGM_NODE_SET || rgm_set_feature(set, "#id") != NULL ||
                (of != NULL ? strcmp(of, set->name) != 0
                            : rgm_schema_find(learning->schema, RGM_NODE_SET, set->name) == NULL))
                continue;
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "processor '%s' gives nodes of '%s' other places in each epoch, by "
                            "which each finds its own embedding (model.input.embeddings or "
                            "latent): leave one of the two out",
                            learning->processors[i].type->section.name, set->name);
        }
    }
    return RGM_OK;
}

static rgm_status fill(rgmi_learning *learning, const rgm_graph_learning_options *o, uint64_t seed)
{
    RGM_TRY(copy_arguments(learning, o));
    RGM_TRY(copy_sets(learning, o));
    for (int64_t k = 0; k < learning->task_count; k++) {
        RGM_TRY(rgmi_graph_task_check(learning->tasks[k], learning->processed_schema));
        RGM_TRY(check_loops(learning, learning->tasks[k]));
    }
    open_asked(learning);
    learning->asked.batch_nodes = o->batch_nodes;
    learning->asked.batch_edges = o->batch_edges;
    RGM_TRY(process_providers(learning));
    RGM_TRY(learn_features(learning));
    RGM_TRY(check_places(learning));
    if (rgmi_provider_is_part(learning->providers[RGM_TRAIN]) ||
        rgmi_provider_is_sampled_part(learning->providers[RGM_TRAIN]))
        RGM_TRY(rgmi_parts_check(learning));
    else
        RGM_TRY(rgmi_learning_count_labels(learning));
    open_checks(learning);
    return open_padding(learning, o, seed);
}

static void release(rgm_task *task)
{
    rgmi_learning *learning = task->state;

    if (learning == NULL)
        return;
    rgm_graph_value_release(learning->root);
    rgmi_feeds_ahead_release(learning->ahead);
    for (int mode = 0; mode < 3; mode++) {
        rgm_provider_release(learning->providers[mode]);
        rgm_size_constraints_release(learning->pipelines[mode].padding);
    }
    for (int64_t i = 0; i < learning->set_count; i++) {
        rgm_free(learning->sets[i].name);
        rgm_provider_release(learning->sets[i].provider);
        rgm_size_constraints_release(learning->sets[i].pipeline.padding);
    }
    for (int64_t k = 0; k < learning->task_count; k++) {
        rgm_graph_task_release(learning->tasks[k]);
        for (int mode = 0; mode < 3; mode++)
            rgm_free(learning->counts[mode][k].of);
    }
    rgm_schema_release(learning->schema);
    rgm_schema_release(learning->processed_schema);
    rgm_learned_features_release(learning->learned);
    rgm_free(learning->processors);
    rgm_free(learning->processed);
    rgmi_learning_take_back(learning);
    rgm_text_clear(&learning->schema_text);
    rgmi_new_graphs_release(learning->new_graphs);
    rgmi_graph_inputs_clear(&learning->inputs);
    rgm_free(learning);
}

/* ---- the task ------------------------------------------------------------------------------ */

static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    rgmi_learning *learning = state;

    *out = NULL;
    if (learning->providers[mode] == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_sampled_parts_connect(learning));
    return rgmi_pipeline_dataset(out, &learning->pipelines[mode], learning->providers[mode],
                                 mode == RGM_TRAIN, learning->batch_size,
                                 learning->drop_remainder && mode == RGM_TRAIN, endless,
                                 learning->threads);
}

static void list_sets(rgm_eval_set *out, int64_t *count, void *state)
{
    const rgmi_learning *learning = state;

    *count = learning->set_count;
    for (int64_t i = 0; i < *count; i++)
        out[i] = (rgm_eval_set){learning->sets[i].name, learning->sets[i].mode};
}

static rgm_status build_eval_inputs(rgm_dataset **out, void *state, int64_t set)
{
    rgmi_learning *learning = state;

    return rgmi_pipeline_dataset(out, &learning->sets[set].pipeline, learning->sets[set].provider,
                                 false, learning->batch_size, false, false, learning->threads);
}

static rgm_status build_prediction_inputs(rgm_dataset **out, void *state, rgm_mode mode)
{
    rgmi_learning *learning = state;

    *out = NULL;
    if (learning->providers[mode] == NULL)
        return RGM_OK;
    if (rgmi_provider_is_part(learning->providers[mode]) ||
        rgmi_provider_is_sampled_part(learning->providers[mode]))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "data.type is parts: predictions are made on the whole graph, --set "
                        "data.type=folder --set data.path=FILE with the one that was cut");
    return rgmi_pipeline_dataset(out, &learning->unpadded[mode], learning->providers[mode], false,
                                 learning->batch_size, false, false, learning->threads);
}

static rgm_status build_file_inputs(rgm_dataset **out, void *state, const rgm_new_data *files)
{
    return rgmi_new_graphs_dataset(out, state, files);
}

static rgm_status feed_batch(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                             rgm_element *batch)
{
    rgmi_learning *learning = state;

    RGM_TRY(rgmi_feeds_ahead_tell(learning->ahead, learning->root));
    return rgm_graph_feeds(feeds, capacity, count, learning->root,
                           rgm_element_pointer(batch, &rgm_graph_element));
}

/* Examples that are parsed come as they are, tables as the processors have made them. */
static rgm_status check_unprocessed(const rgmi_learning *learning)
{
    for (int64_t i = 0; i < learning->processor_count; i++) {
        const rgm_graph_processor_type *type = learning->processors[i].type;

        if (!type->training_only)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "export: a SavedModel parses Examples without data.processors, of "
                            "which this run has %s: the exporter predictor takes such Examples, "
                            "a SavedModel without examples the tables behind the processors",
                            type->section.name);
    }
    return RGM_OK;
}

static rgm_status export_inputs(rgm_onnx_options *options, void *state)
{
    const rgmi_learning *learning = state;

    if (options->joins_examples)
        RGM_TRY(check_unprocessed(learning));
    return rgm_graph_value_tables(options, learning->root);
}

static rgm_status export_tables(rgm_named_tensor **tables, int64_t *count, void *state,
                                rgm_element *batch)
{
    (void)state;
    return rgm_graph_tables(tables, count, rgm_element_pointer(batch, &rgm_graph_element));
}

static void add_file(rgm_task_file *out, int64_t *count, const char *name, const rgm_text *text,
                     const char *origin)
{
    out[(*count)++] =
        (rgm_task_file){.name = name, .data = text->data, .size = text->size, .origin = origin};
}

/* Weights mean nothing without what their columns are. */
static void files(rgm_task_file *out, int64_t *count, void *state)
{
    const rgmi_learning *l = state;

    *count = 0;
    if (rgm_learned_features_count(l->learned) > 0)
        add_file(out, count, RGM_FEATURES_FILE, rgm_learned_features_text(l->learned),
                 "learned from the training part");
    if (l->schema_text.size > 0) {
        add_file(out, count, RGMI_SCHEMA_FILE, &l->schema_text, "the data's sets and features");
        out[*count - 1].may_differ = true;
    }
    if (l->inputs.entities.size == 0)
        return;
    add_file(out, count, RGMI_ENTITIES_FILE, &l->inputs.entities, "the triples' names, in order");
    add_file(out, count, RGMI_RELATIONS_FILE, &l->inputs.relations, "the triples' names, in order");
}

static int64_t item_number(rgm_element *batch, int64_t head, int64_t i, void *state)
{
    const rgmi_learning *learning = state;
    const rgm_graph_task *task = learning->tasks[learning->task_of[head]];

    if (task->type->node == NULL)
        return -1;
    return task->type->node(rgm_element_pointer(batch, &rgm_graph_element), i, task->options);
}

static const char *item_name(rgm_str *out, rgm_element *batch, int64_t head, int64_t i, void *state)
{
    const rgmi_learning *learning = state;
    const rgm_graph_task *task = learning->tasks[learning->task_of[head]];

    if (task->type->item_name == NULL)
        return NULL;
    return task->type->item_name(out, rgm_element_pointer(batch, &rgm_graph_element), i,
                                 task->options);
}

static bool item_pair(rgm_item_pair *out, rgm_element *batch, int64_t head, int64_t i, void *state)
{
    const rgmi_learning *learning = state;
    const rgm_graph_task *task = learning->tasks[learning->task_of[head]];

    if (task->type->pair == NULL)
        return false;
    task->type->pair(out, rgm_element_pointer(batch, &rgm_graph_element), i, task->options);
    return true;
}

static bool are_all_zero(const rgm_tensor *logits)
{
    for (int64_t i = 0; i < rgm_tensor_count(logits); i++)
        if (rgm_tensor_at(logits, i) != 0)
            return false;
    return rgm_tensor_rank(logits) > 0 && rgm_tensor_dim(logits, 0) > 1;
}

/* A head without a bias scores states that are all 0 with 0: nothing is learned from there on, and
 * metrics look as if everything were guessed. Told once. */
static rgm_status inference_step(rgm_step *step, void *state)
{
    rgmi_learning *learning = state;

    RGM_TRY(rgm_trainer_default_inference_step(step));
    for (int64_t h = 0; h < RGM_MAX_HEADS && !learning->told_zeros; h++) {
        if (step->predictions[h] == NULL || !are_all_zero(step->predictions[h]))
            continue;
        learning->told_zeros = true;
        rgm_log_write(
            RGM_LOG_WARNING,
            "every output of %s is 0 for a batch of %s data: the states that it reads are "
            "0, as behind a relu that nothing passes; a smaller learning rate, another "
            "runtime.seed, model.output or a head with a bias keeps them apart",
            learning->tasks[learning->task_of[h]]->type->section.name, rgm_mode_name(step->mode));
    }
    return RGM_OK;
}

/* The edges of one graph are split, and each part's graph has all of them. */
static bool item_asked(rgm_mode mode, int64_t head, int64_t item, void *state)
{
    const rgmi_learning *learning = state;
    const rgm_graph_task *task = learning->tasks[learning->task_of[head]];
    const rgmi_graph_inputs *in = &learning->inputs;

    return in->edge_parts == NULL || task->type->edge_set == NULL || item >= in->edge_count ||
           in->edge_parts[item] == mode;
}

static rgm_task task_of(rgmi_learning *learning)
{
    return (rgm_task){
        .name = "gnn",
        .type = &rgm_graph_learning,
        .network = rgm_graph_learning.name,
        .state = learning,
        .build_model = rgmi_learning_build_model,
        .element_type = &rgm_graph_element,
        .build_inputs = build_inputs,
        .eval_sets = list_sets,
        .build_eval_inputs = build_eval_inputs,
        .build_metrics = rgmi_loss_weight_metrics,
        .process_metrics = rgmi_loss_weight_process,
        .inference_step = inference_step,
        .plan = rgmi_learning_plan,
        .place = rgmi_learning_place,
        .check_data = rgmi_learning_check_data,
        .build_prediction_inputs = build_prediction_inputs,
        .build_file_inputs = build_file_inputs,
        .feeds = feed_batch,
        .export_inputs = export_inputs,
        .export_tables = export_tables,
        .describe_files = rgmi_new_graphs_describe,
        .item_number = item_number,
        .item_name = item_name,
        .item_pair = item_pair,
        .item_asked = item_asked,
        .files = files,
        .save_serving = rgmi_learning_save_serving,
        .example_batch = rgmi_learning_example_batch,
        .example_items = rgmi_learning_example_items,
        .example_kind = rgmi_learning_example_kind,
    };
}

rgm_status rgm_graph_learning_create(rgm_task *out, const rgm_graph_learning_options *options,
                                     const rgm_runtime_options *runtime)
{
    rgm_status status = RGM_OK;
    rgmi_learning *learning = NULL;

    *out = (rgm_task){0};
    RGM_TRY(check_arguments(options));
    RGM_TRY(RGM_NEW(learning, 1));
    *out = task_of(learning);
    learning->threads = rgm_runtime_threads(runtime);
    RGM_GO(rgmi_feeds_ahead_create(&learning->ahead));
    RGM_GO(fill(learning, options, (uint64_t)runtime->seed));
done:
    if (status != RGM_OK)
        rgm_task_release(out);
    return status;
}

rgm_status rgm_run(rgm_open_run **run, const rgm_graph_learning_options *what,
                   const rgm_run_options *how)
{
    rgm_status status;
    rgm_run_options options = *how;
    rgm_task task;

    *run = NULL;
    options.releases_task = true;
    RGM_TRY(rgm_graph_learning_create(&task, what, &how->runtime));
    RGM_TRY(rgm_run_open(run, &task, &options));
    status = rgm_run_complete(*run);
    if (status < 0) {
        rgm_run_close(*run);
        *run = NULL;
    }
    return status;
}

/* ---- experiment files ---------------------------------------------------------------------- */

/* Where a model's options say how features are read; NULL: they do not. */
static rgm_input_options *input_of(const rgm_task_setup *setup)
{
    const rgm_graph_model_type *type = (const rgm_graph_model_type *)setup->model;

    return type->input > 0 ? (rgm_input_options *)((char *)setup->model_options + type->input)
                           : NULL;
}

/* The processors of an experiment file. */
static rgm_status processors_of(rgm_graph_processor **out, const rgm_sections *sections)
{
    RGM_TRY(RGM_NEW(*out, sections->count));
    for (int64_t i = 0; i < sections->count; i++)
        (*out)[i] = (rgm_graph_processor){(const rgm_graph_processor_type *)sections->items[i].type,
                                          sections->items[i].options};
    return RGM_OK;
}

/* Options of an experiment file; tasks are made for it and to be released. */
static rgm_status options_of(rgm_graph_learning_options *o, rgm_graph_task **tasks,
                             double *loss_weights, bool *learned,
                             const rgm_graph_processor *processors, const rgmi_graph_inputs *inputs,
                             const rgm_task_setup *setup)
{
    const rgmi_data_options *data = setup->data;
    bool alone = setup->part_count == 1 && setup->parts[0].name == NULL;
    bool batched = rgmi_provider_is_batched(inputs->providers[RGM_TRAIN]);
    /* Of those data.links says how large they are, and of the others' keys it is told. */
    bool of_links = batched && setup->parts[0].type == &rgm_link_prediction.section;

    for (int64_t k = 0; k < setup->part_count; k++) {
        const rgm_task_part *part = &setup->parts[k];

        tasks[k] = rgm_graph_task_create((const rgm_graph_task_type *)part->type, part->name,
                                         part->options);
        if (tasks[k] == NULL)
            return RGM_ERR_NOMEM;
        loss_weights[k] = part->loss_weight;
        learned[k] = part->learns_weight;
    }
    *o = (rgm_graph_learning_options){
        .train_data = inputs->providers[RGM_TRAIN],
        .valid_data = inputs->providers[RGM_VALID],
        .test_data = inputs->providers[RGM_TEST],
        .eval_sets = inputs->sets,
        .eval_set_count = inputs->set_count,
        .schema = inputs->schema,
        .model_fn = ((const rgm_graph_model_type *)setup->model)->build,
        .model_payload = setup->model_options,
        .input = input_of(setup),
        .task = alone ? tasks[0] : NULL,
        .tasks = tasks,
        .task_count = alone ? 0 : setup->part_count,
        .loss_weights = alone ? NULL : loss_weights,
        .learned_weights = alone ? NULL : learned,
        .global_batch_size = batched ? 1 : data->batch_size, /* providers of batches have it */
        .drop_remainder = !batched && data->drop_remainder,
        .batch_nodes = of_links ? 0 : data->batch_nodes,
        .batch_edges = of_links ? 0 : data->batch_edges,
        .processors = processors,
        .processor_count = data->processors.count,
        .train_padding = data->train_padding,
        .valid_padding = data->valid_padding,
    };
    return RGM_OK;
}

/* What a trained run learned is its weights' other half: it is not made up from the data of now. */
static rgm_status check_kept(const rgm_task *task, const rgm_graph_learning_options *options,
                             const rgm_task_setup *setup)
{
    const rgmi_learning *learning = task->state;

    if (!setup->trained || setup->run_dir == NULL || options->learned != NULL ||
        rgm_learned_features_count(learning->learned) == 0)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s keeps no %s, which its weights were trained with",
                    setup->run_dir, RGM_FEATURES_FILE);
}

/* With its own data. */
static rgm_status create_with_data(rgm_task *out, const rgm_task_setup *setup)
{
    rgm_status status = RGM_OK;
    rgmi_graph_inputs inputs = {0};
    rgm_graph_task *tasks[RGM_MAX_HEADS] = {NULL};
    double loss_weights[RGM_MAX_HEADS];
    const rgmi_data_options *data = setup->data;
    rgm_graph_processor *processors = NULL;
    bool learned[RGM_MAX_HEADS];
    rgm_graph_learning_options options = {.learned = NULL};
    rgm_runtime_options runtime = {.seed = (int64_t)setup->seed, .threads = setup->threads};

    *out = (rgm_task){0};
    rgmi_sampling_hear(setup);
    RGM_GO(rgmi_graph_inputs_open(&inputs, setup));
    RGM_GO(processors_of(&processors, &data->processors));
    RGM_GO(rgmi_edge_parts_process(&inputs, &setup->parts[0], processors, data->processors.count));
    RGM_GO(options_of(&options, tasks, loss_weights, learned, processors, &inputs, setup));
    if (setup->trained && setup->run_dir != NULL) /* of the data now it might be something else */
        RGM_GO(rgmi_learning_load_features(&options.learned, setup->run_dir));
    RGM_GO(rgm_graph_learning_create(out, &options, &runtime));
    ((rgmi_learning *)out->state)->inputs = inputs; /* which providers borrow from */
    ((rgmi_learning *)out->state)->sections = data->processors;
    ((rgmi_learning *)out->state)->data = data;
    ((rgmi_learning *)out->state)->serves = setup->asked;
    if (inputs.sampler != NULL)
        out->complete = rgmi_sampled_parts_complete;
    else if (inputs.parts != NULL)
        out->parts = rgm_parts_count(inputs.parts);
    inputs = (rgmi_graph_inputs){0};
    RGM_GO(check_kept(out, &options, setup));
    RGM_GO(rgmi_learning_print_schema(out->state));
done:
    if (status != RGM_OK)
        rgm_task_release(out);
    for (int64_t k = 0; k < RGM_MAX_HEADS; k++)
        rgm_graph_task_release(tasks[k]);
    rgm_free(processors);
    rgm_learned_features_release(options.learned);
    rgmi_graph_inputs_clear(&inputs);
    return status;
}

/* ---- serving ------------------------------------------------------------------------------- */

static rgm_status serve_processors(rgmi_learning *learning, const rgm_sections *sections)
{
    rgm_graph_processor *processors = NULL;
    rgm_status status = processors_of(&processors, sections);

    if (status == RGM_OK)
        status = copy_processors(learning, processors, sections->count);
    rgm_free(processors);
    return status;
}

static rgm_status fill_serving(rgmi_learning *learning, const rgm_task_setup *setup)
{
    const rgmi_data_options *data = setup->data;

    rgmi_sampling_hear(setup);
    RGM_TRY(serve_processors(learning, &data->processors));
    learning->sections = data->processors;
    learning->data = data;
    for (int64_t k = 0; k < setup->part_count; k++) {
        const rgm_task_part *part = &setup->parts[k];

        learning->tasks[k] = rgm_graph_task_create((const rgm_graph_task_type *)part->type,
                                                   part->name, part->options);
        if (learning->tasks[k] == NULL)
            return RGM_ERR_NOMEM;
        learning->loss_weights[k] = part->loss_weight;
        learning->learns_weight[k] = part->learns_weight;
        learning->task_count++;
        RGM_TRY(rgmi_graph_task_check(learning->tasks[k], learning->processed_schema));
    }
    learning->model_fn = ((const rgm_graph_model_type *)setup->model)->build;
    learning->model_payload = setup->model_options;
    learning->input = input_of(setup);
    learning->batch_size = 1; /* of files: a node's number is that in its own Example */
    open_asked(learning);
    for (int mode = 0; mode < 3; mode++)
        learning->pipelines[mode] = learning->asked;
    open_checks(learning);
    return RGM_OK;
}

static rgm_status serve(rgm_task *out, const rgm_task_setup *setup, const char *folder)
{
    rgm_status status = RGM_OK;
    rgmi_learning *learning = NULL;

    *out = (rgm_task){0};
    RGM_TRY(RGM_NEW(learning, 1));
    *out = task_of(learning);
    learning->serves = true;
    learning->threads = setup->threads;
    RGM_GO(rgmi_learning_load_schema(&learning->schema, folder));
    RGM_GO(rgmi_learning_load_features(&learning->learned, folder));
    RGM_GO(rgmi_learning_load_names(learning, folder));
    RGM_GO(fill_serving(learning, setup));
done:
    if (status != RGM_OK)
        rgm_task_release(out);
    return status;
}

/* A run of before keeps no schema, and learns it from its data. */
static rgm_status create(rgm_task *out, const rgm_task_setup *setup)
{
    bool kept =
        setup->asked && setup->run_dir != NULL && rgm_folder_has(setup->run_dir, RGMI_SCHEMA_FILE);

    return kept ? serve(out, setup, setup->run_dir) : create_with_data(out, setup);
}

const rgm_task_type rgm_graph_learning = {
    .name = "graph network",
    .data = &rgmi_graph_data_section,
    .tasks = rgm_graph_tasks,
    .models = rgm_graph_models,
    .most_parts = RGM_MAX_HEADS,
    .learned_weights = true,
    .makes_folds = true,
    .effects = rgmi_graph_effects,
    .rules = rgmi_graph_rules,
    .no_privacy = "a node's features reach the gradients of every node around it, so clipping each "
                  "example's gradient bounds nobody's influence",
    .create = create,
    .serve = serve,
    .release = release,
};

/* ---- runs of it ---------------------------------------------------------------------------- */

static rgm_status learning_of(rgmi_learning **out, const rgm_open_run *run)
{
    void *state;

    *out = NULL;
    RGM_TRY(rgm_task_state(&state, rgm_run_task(run), &rgm_graph_learning));
    *out = state;
    return RGM_OK;
}

const rgm_graph_value *rgm_graph_run_input(const rgm_open_run *run)
{
    rgmi_learning *learning;

    return learning_of(&learning, run) == RGM_OK ? learning->root : NULL;
}

const rgm_graph_value *rgm_graph_run_base_model(const rgm_open_run *run)
{
    rgmi_learning *learning;

    return learning_of(&learning, run) == RGM_OK ? learning->base : NULL;
}

rgm_status rgm_graph_run_preprocess(rgm_graph **out, const rgm_open_run *run,
                                    rgm_element *const *examples, int64_t count)
{
    rgmi_learning *learning;

    *out = NULL;
    RGM_TRY(learning_of(&learning, run));
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "no examples");
    return rgmi_pipeline_process(out, &learning->asked, examples, count, NULL);
}

rgm_status rgm_graph_run_predict(rgm_tensor **out, const rgm_open_run *run, int64_t head,
                                 rgm_graph *graph)
{
    enum { MOST_FEEDS = 512 };
    rgm_feed feeds[MOST_FEEDS];
    int64_t count = 0;
    rgmi_learning *learning;

    *out = NULL;
    RGM_TRY(learning_of(&learning, run));
    RGM_TRY(rgm_graph_feeds(feeds, MOST_FEEDS, &count, learning->root, graph));
    return rgm_run_predict_feeds(out, run, head, feeds, count);
}
