/*
 * Sampling specs: TF-GNN's SamplingSpec in proto text, read and printed, and specs made from a list
 * of hops or from the schema alone. A spec is plain data in the order of use; that every op starts
 * where its inputs end is checked here once, so the sampler need not.
 */
#include "sampler_internal.h"

#include <stdio.h>
#include <string.h>

static const char *const strategy_names[] = {"TOP_K", "RANDOM_UNIFORM", "RANDOM_WEIGHTED",
                                             "LATEST_K"};
#define STRATEGIES ((int)(sizeof strategy_names / sizeof *strategy_names))

void rgm_sampling_spec_release(rgm_sampling_spec *spec)
{
    if (spec == NULL)
        return;
    for (int64_t i = 0; i < spec->op_count; i++) {
        rgm_sample_op *op = &spec->ops[i];
        for (int64_t k = 0; op->inputs && k < op->input_count; k++)
            rgm_free(op->inputs[k]);
        rgm_free(op->inputs);
        rgm_free(op->name);
        rgm_free(op->edge_set);
        rgm_free(op->weight);
        rgm_free(op->time);
    }
    rgm_free(spec->ops);
    rgm_free(spec->seed_op);
    rgm_free(spec->seed_node_set);
    rgm_free(spec->seed_time);
    rgm_free(spec);
}

/* The op of that name among the first `count`, or -1. */
static int64_t find_op(const rgm_sampling_spec *spec, const char *name, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (strcmp(spec->ops[i].name, name) == 0)
            return i;
    return -1;
}

const char *rgmi_sample_op_start(const rgm_sample_op *op, const rgm_schema *schema)
{
    const rgm_set_schema *set = rgm_schema_find(schema, RGM_EDGE_SET, op->edge_set);

    return set == NULL ? NULL : op->from == RGM_SOURCE ? set->source : set->target;
}

const char *rgmi_sample_op_end(const rgm_sample_op *op, const rgm_schema *schema)
{
    const rgm_set_schema *set = rgm_schema_find(schema, RGM_EDGE_SET, op->edge_set);

    return set == NULL ? NULL : op->from == RGM_SOURCE ? set->target : set->source;
}

/* Everything about op i that the schema and the ops before it decide. */
static rgm_status check_op(const rgm_sampling_spec *spec, int64_t i, const rgm_schema *schema)
{
    const rgm_sample_op *op = &spec->ops[i];
    const char *start = rgmi_sample_op_start(op, schema);

    if (start == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "sampling op '%s': there is no edge set '%s'%s",
                        op->name, op->edge_set,
                        rgm_schema_hint(schema, RGM_EDGE_SET, op->edge_set).text);
    if (strcmp(op->name, spec->seed_op) == 0 || find_op(spec, op->name, i) >= 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "sampling op '%s' is there twice", op->name);
    if (op->sample_size < 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "sampling op '%s': sample_size is %lld, must be at least 1",
                        op->name, (long long)op->sample_size);
    if (op->input_count < 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "sampling op '%s' has no input_op_names", op->name);
    for (int64_t k = 0; k < op->input_count; k++) {
        int64_t input = find_op(spec, op->inputs[k], i);
        const char *end = input >= 0 ? rgmi_sample_op_end(&spec->ops[input], schema)
                          : strcmp(op->inputs[k], spec->seed_op) == 0 ? spec->seed_node_set
                                                                      : NULL;
        if (end == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "sampling op '%s': input '%s' is no op before it",
                            op->name, op->inputs[k]);
        if (strcmp(end, start) != 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "sampling op '%s' starts from node set '%s' (edge set '%s'), but its "
                            "input '%s' ends in '%s'",
                            op->name, start, op->edge_set, op->inputs[k], end);
    }
    return RGM_OK;
}

static rgm_status check_seed(const rgm_sampling_spec *spec, const rgm_schema *schema)
{
    if (rgm_schema_find(schema, RGM_NODE_SET, spec->seed_node_set) == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "sampling seeds: there is no node set '%s'%s",
                        spec->seed_node_set,
                        rgm_schema_hint(schema, RGM_NODE_SET, spec->seed_node_set).text);
    return RGM_OK;
}

rgm_status rgmi_sampling_spec_check(const rgm_sampling_spec *spec, const rgm_schema *schema)
{
    bool timed = false;

    RGM_TRY(check_seed(spec, schema));
    for (int64_t i = 0; i < spec->op_count; i++) {
        RGM_TRY(check_op(spec, i, schema));
        timed = timed || spec->ops[i].time != NULL;
    }
    if (spec->seed_time != NULL && spec->op_count > 0 && !timed)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "sampling seeds have the time feature '%s', but no op has one to hold "
                        "against it: every edge would be taken, later ones too",
                        spec->seed_time);
    return RGM_OK;
}

/* "<cites" is the edge set cites, followed from its target. */
static rgm_status set_edges(rgm_sample_op *op, const char *text)
{
    op->from = text[0] == '<' ? RGM_TARGET : RGM_SOURCE;
    return rgm_strdup(&op->edge_set, text + (text[0] == '<'));
}

/* ---- from proto text ---- */

static rgm_status copy_string(char **out, const rgm_pbtxt *text, const rgm_pbtxt_field *message,
                              const char *name)
{
    const rgm_pbtxt_field *field = rgm_pbtxt_find(message, name);
    const char *value;

    if (field == NULL)
        return rgm_pbtxt_fail(text, message, "%s has no %s", message->name, name);
    RGM_TRY(rgm_pbtxt_string(&value, text, field));
    return rgm_strdup(out, value);
}

static rgm_status read_strategy(rgm_sample_op *op, const rgm_pbtxt *text,
                                const rgm_pbtxt_field *field)
{
    const char *word;
    int64_t number;

    if (field->kind == RGM_PBTXT_NUMBER) {
        RGM_TRY(rgm_pbtxt_int(&number, text, field));
        if (number < 0 || number >= STRATEGIES)
            return rgm_pbtxt_fail(text, field, "strategy %lld is not one of 0, 1, 2, 3",
                                  (long long)number);
        op->strategy = (rgm_sample_strategy)number;
        return RGM_OK;
    }
    RGM_TRY(rgm_pbtxt_word(&word, text, field));
    for (int i = 0; i < STRATEGIES; i++) {
        if (strcmp(word, strategy_names[i]) == 0) {
            op->strategy = (rgm_sample_strategy)i;
            return RGM_OK;
        }
    }
    return rgm_pbtxt_fail(
        text, field, "strategy %s is not one of TOP_K, RANDOM_UNIFORM, RANDOM_WEIGHTED, LATEST_K",
        word);
}

static rgm_status read_op(rgm_sample_op *op, const rgm_pbtxt *text, const rgm_pbtxt_field *message)
{
    static const char *const names[] = {"op_name",          "input_op_names", "edge_set_name",
                                        "sample_size",      "strategy",       "weight_feature_name",
                                        "time_feature_name"};
    const rgm_pbtxt_field *field;
    const char *value;

    RGM_TRY(rgm_pbtxt_message(text, message));
    RGM_TRY(rgm_pbtxt_check_names(text, message, names, 7));
    RGM_TRY(copy_string(&op->name, text, message, "op_name"));
    field = rgm_pbtxt_find(message, "edge_set_name");
    if (field == NULL)
        return rgm_pbtxt_fail(text, message, "sampling op '%s' has no edge_set_name", op->name);
    RGM_TRY(rgm_pbtxt_string(&value, text, field));
    RGM_TRY(set_edges(op, value));
    field = rgm_pbtxt_find(message, "sample_size");
    if (field)
        RGM_TRY(rgm_pbtxt_int(&op->sample_size, text, field));
    field = rgm_pbtxt_find(message, "strategy");
    if (field) /* proto2's default is the first, TOP_K */
        RGM_TRY(read_strategy(op, text, field));
    if (rgm_pbtxt_find(message, "weight_feature_name"))
        RGM_TRY(copy_string(&op->weight, text, message, "weight_feature_name"));
    if (rgm_pbtxt_find(message, "time_feature_name"))
        RGM_TRY(copy_string(&op->time, text, message, "time_feature_name"));
    for (field = rgm_pbtxt_find(message, "input_op_names"); field;
         field = rgm_pbtxt_find_next(field))
        op->input_count++;
    RGM_TRY(RGM_NEW(op->inputs, op->input_count));
    field = rgm_pbtxt_find(message, "input_op_names");
    for (int64_t i = 0; i < op->input_count; i++, field = rgm_pbtxt_find_next(field)) {
        RGM_TRY(rgm_pbtxt_string(&value, text, field));
        RGM_TRY(rgm_strdup(&op->inputs[i], value));
    }
    return RGM_OK;
}

static rgm_status read_seed_time(rgm_sampling_spec *spec, const rgm_pbtxt *text,
                                 const rgm_pbtxt_field *message)
{
    const rgm_pbtxt_field *field = rgm_pbtxt_find(message, "up_to_seed");

    if (rgm_pbtxt_find(message, "time_feature_name"))
        RGM_TRY(copy_string(&spec->seed_time, text, message, "time_feature_name"));
    return field != NULL ? rgm_pbtxt_bool(&spec->up_to_seed, text, field) : RGM_OK;
}

static rgm_status read_spec(rgm_sampling_spec *spec, const rgm_pbtxt *text,
                            const rgm_schema *schema)
{
    static const char *const names[] = {"seed_op", "sampling_ops"};
    static const char *const seed_names[] = {"op_name", "node_set_name", "time_feature_name",
                                             "up_to_seed"};
    const rgm_pbtxt_field *root = rgm_pbtxt_root(text);
    const rgm_pbtxt_field *field = rgm_pbtxt_find(root, "symmetric_link_seed_op");
    int64_t count = 0;
    rgm_status status;

    if (field)
        return rgm_pbtxt_fail(text, field, "symmetric_link_seed_op is not supported; use seed_op");
    RGM_TRY(rgm_pbtxt_check_names(text, root, names, 2));
    field = rgm_pbtxt_find(root, "seed_op");
    if (field == NULL)
        return rgm_pbtxt_fail(text, root, "the sampling spec has no seed_op");
    RGM_TRY(rgm_pbtxt_message(text, field));
    RGM_TRY(rgm_pbtxt_check_names(text, field, seed_names, 4));
    RGM_TRY(copy_string(&spec->seed_op, text, field, "op_name"));
    RGM_TRY(copy_string(&spec->seed_node_set, text, field, "node_set_name"));
    RGM_TRY(read_seed_time(spec, text, field));
    status = check_seed(spec, schema);
    if (status != RGM_OK)
        return rgm_pbtxt_fail(text, field, "%s", rgm_error_message());
    for (field = rgm_pbtxt_find(root, "sampling_ops"); field; field = rgm_pbtxt_find_next(field))
        count++;
    RGM_TRY(RGM_NEW(spec->ops, count));
    field = rgm_pbtxt_find(root, "sampling_ops");
    for (int64_t i = 0; i < count; i++, field = rgm_pbtxt_find_next(field)) {
        spec->op_count = i + 1;
        RGM_TRY(read_op(&spec->ops[i], text, field));
        status = check_op(spec, i, schema);
        if (status != RGM_OK)
            return rgm_pbtxt_fail(text, field, "%s", rgm_error_message());
    }
    return RGM_OK;
}

rgm_status rgm_sampling_spec_parse(rgm_sampling_spec **out, const char *text, int64_t size,
                                   const char *name, const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;
    rgm_pbtxt *document = NULL;

    *out = NULL;
    RGM_GO(rgm_pbtxt_parse(&document, text, size, name));
    RGM_GO(RGM_NEW(spec, 1));
    RGM_GO(read_spec(spec, document, schema));
    *out = spec;
    spec = NULL;
done:
    rgm_pbtxt_release(document);
    rgm_sampling_spec_release(spec);
    return status;
}

rgm_status rgm_sampling_spec_load(rgm_sampling_spec **out, const char *path,
                                  const rgm_schema *schema)
{
    char *text = NULL;
    int64_t size;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgm_file_load(&text, &size, path, INT64_C(1) << 20));
    status = rgm_sampling_spec_parse(out, text, size, path, schema);
    rgm_free(text);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* ---- from hops and from the schema ---- */

/* Append an op with one input; the text's "<" decides the direction. */
static rgm_status add_op(rgm_sampling_spec *spec, const char *edges, int64_t hop, int64_t size,
                         rgm_sample_strategy strategy, const char *input)
{
    rgm_sample_op *op = &spec->ops[spec->op_count];

    spec->op_count++;
    op->sample_size = size;
    op->strategy = strategy;
    RGM_TRY(rgm_strprintf(&op->name, "%s-%lld", edges, (long long)hop));
    RGM_TRY(set_edges(op, edges));
    RGM_TRY(RGM_NEW(op->inputs, 1));
    op->input_count = 1;
    return rgm_strdup(&op->inputs[0], input);
}

static rgm_status start_spec(rgm_sampling_spec **out, const char *seed_node_set, int64_t ops)
{
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;

    RGM_GO(RGM_NEW(spec, 1));
    RGM_GO(rgm_strdup(&spec->seed_op, "seed"));
    RGM_GO(rgm_strdup(&spec->seed_node_set, seed_node_set));
    RGM_GO(RGM_NEW(spec->ops, ops));
    *out = spec;
    spec = NULL;
done:
    rgm_sampling_spec_release(spec);
    return status;
}

rgm_status rgm_sampling_spec_create(rgm_sampling_spec **out, const rgm_schema *schema,
                                    const char *seed_node_set, const char *const *edge_sets,
                                    const int64_t *sizes, int64_t hops,
                                    rgm_sample_strategy strategy)
{
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;

    *out = NULL;
    if (hops < 0)
        return RGM_FAIL(RGM_ERR_ARG, "hops is %lld", (long long)hops);
    RGM_GO(start_spec(&spec, seed_node_set, hops));
    for (int64_t i = 0; i < hops; i++)
        RGM_GO(add_op(spec, edge_sets[i], i + 1, sizes[i], strategy,
                      i == 0 ? spec->seed_op : spec->ops[i - 1].name));
    RGM_GO(rgmi_sampling_spec_check(spec, schema));
    *out = spec;
    spec = NULL;
done:
    rgm_sampling_spec_release(spec);
    return status;
}

static rgm_status replace(char **at, const char *text)
{
    char *copy = NULL;

    if (text != NULL)
        RGM_TRY(rgm_strdup(&copy, text));
    rgm_free(*at);
    *at = copy;
    return RGM_OK;
}

rgm_status rgm_sampling_spec_set_weight(rgm_sampling_spec *spec, const char *feature)
{
    for (int64_t i = 0; i < spec->op_count; i++)
        RGM_TRY(replace(&spec->ops[i].weight, feature));
    return RGM_OK;
}

static bool stands_in(const char *const *names, int64_t count, const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

rgm_status rgm_sampling_spec_set_time(rgm_sampling_spec *spec, const char *feature,
                                      const char *seed_feature, bool up_to_seed,
                                      const char *const *always_there, int64_t always_count)
{
    for (int64_t k = 0; k < always_count; k++) {
        int64_t i = 0;

        while (i < spec->op_count && strcmp(spec->ops[i].edge_set, always_there[k]) != 0)
            i++;
        if (i == spec->op_count)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "edge set '%s' shall have no times, but no sampling op follows it",
                            always_there[k]);
    }
    for (int64_t i = 0; i < spec->op_count; i++) {
        rgm_sample_op *op = &spec->ops[i];

        if (!stands_in(always_there, always_count, op->edge_set) &&
            (feature != NULL || op->time == NULL))
            RGM_TRY(replace(&op->time, feature != NULL ? feature : "time"));
    }
    if (seed_feature == NULL)
        return RGM_OK;
    spec->up_to_seed = up_to_seed;
    return replace(&spec->seed_time, seed_feature);
}

/* One op for each edge set that starts where `input` ends; the frontier of round `hop`. */
static rgm_status add_branches(rgm_sampling_spec *spec, int64_t *capacity, const rgm_schema *schema,
                               const char *input, const char *node_set, int64_t hop, int64_t size,
                               rgm_sample_strategy strategy)
{
    char prefix[8];

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        int64_t first = spec->op_count;

        if (set->piece != RGM_EDGE_SET || rgm_aux_prefix(set->name, prefix, sizeof prefix) ||
            strcmp(set->source, node_set) != 0)
            continue;
        RGM_TRY(RGM_RESERVE(spec->ops, *capacity, first + 1));
        memset(&spec->ops[first], 0, sizeof *spec->ops);
        RGM_TRY(add_op(spec, set->name, hop, size, strategy, input));
        /* Branches meet the same edge set in one round by several ways: the input tells them apart.
         */
        rgm_free(spec->ops[first].name);
        spec->ops[first].name = NULL;
        RGM_TRY(rgm_strprintf(&spec->ops[first].name, "%s/%s", input, set->name));
        if (spec->op_count > 4096)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "a sampling tree of more than 4096 ops; take fewer hops");
    }
    return RGM_OK;
}

rgm_status rgm_sampling_spec_tree(rgm_sampling_spec **out, const rgm_schema *schema,
                                  const char *seed_node_set, int64_t hops, const int64_t *sizes,
                                  rgm_sample_strategy strategy)
{
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;
    int64_t capacity = 16, begin = 0, end;
    char *input = NULL;

    *out = NULL;
    RGM_GO(start_spec(&spec, seed_node_set, capacity));
    RGM_GO(check_seed(spec, schema));
    if (hops > 0)
        RGM_GO(add_branches(spec, &capacity, schema, spec->seed_op, seed_node_set, 1, sizes[0],
                            strategy));
    for (int64_t hop = 2; hop <= hops; hop++) {
        end = spec->op_count;
        for (; begin < end; begin++) {
            const char *set = rgmi_sample_op_end(&spec->ops[begin], schema);
            RGM_GO(rgm_strdup(&input, spec->ops[begin].name));
            RGM_GO(
                add_branches(spec, &capacity, schema, input, set, hop, sizes[hop - 1], strategy));
            rgm_free(input);
            input = NULL;
        }
    }
    RGM_GO(rgmi_sampling_spec_check(spec, schema));
    *out = spec;
    spec = NULL;
done:
    rgm_free(input);
    rgm_sampling_spec_release(spec);
    return status;
}

/* ---- to proto text ---- */

static rgm_status print_op(rgm_pbtxt *text, const rgm_sample_op *op)
{
    rgm_pbtxt_field *message;
    char *edges = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_pbtxt_add_message(&message, text, rgm_pbtxt_root(text), "sampling_ops"));
    RGM_GO(rgm_pbtxt_add_string(text, message, "op_name", op->name, (int64_t)strlen(op->name)));
    for (int64_t i = 0; i < op->input_count; i++)
        RGM_GO(rgm_pbtxt_add_string(text, message, "input_op_names", op->inputs[i],
                                    (int64_t)strlen(op->inputs[i])));
    RGM_GO(rgm_strprintf(&edges, "%s%s", op->from == RGM_TARGET ? "<" : "", op->edge_set));
    RGM_GO(rgm_pbtxt_add_string(text, message, "edge_set_name", edges, (int64_t)strlen(edges)));
    RGM_GO(rgm_pbtxt_add_int(text, message, "sample_size", op->sample_size));
    RGM_GO(rgm_pbtxt_add_word(text, message, "strategy", strategy_names[op->strategy]));
    if (op->weight)
        RGM_GO(rgm_pbtxt_add_string(text, message, "weight_feature_name", op->weight,
                                    (int64_t)strlen(op->weight)));
    if (op->time)
        RGM_GO(rgm_pbtxt_add_string(text, message, "time_feature_name", op->time,
                                    (int64_t)strlen(op->time)));
done:
    rgm_free(edges);
    return status;
}

rgm_status rgm_sampling_spec_print(rgm_text *out, const rgm_sampling_spec *spec)
{
    rgm_status status = RGM_OK;
    rgm_pbtxt *text = NULL;
    rgm_pbtxt_field *seed;

    RGM_GO(rgm_pbtxt_create(&text));
    RGM_GO(rgm_pbtxt_add_message(&seed, text, rgm_pbtxt_root(text), "seed_op"));
    RGM_GO(
        rgm_pbtxt_add_string(text, seed, "op_name", spec->seed_op, (int64_t)strlen(spec->seed_op)));
    RGM_GO(rgm_pbtxt_add_string(text, seed, "node_set_name", spec->seed_node_set,
                                (int64_t)strlen(spec->seed_node_set)));
    if (spec->seed_time)
        RGM_GO(rgm_pbtxt_add_string(text, seed, "time_feature_name", spec->seed_time,
                                    (int64_t)strlen(spec->seed_time)));
    if (spec->up_to_seed)
        RGM_GO(rgm_pbtxt_add_word(text, seed, "up_to_seed", "true"));
    for (int64_t i = 0; i < spec->op_count; i++)
        RGM_GO(print_op(text, &spec->ops[i]));
    RGM_GO(rgm_pbtxt_print(out, rgm_pbtxt_root(text)));
done:
    rgm_pbtxt_release(text);
    return status;
}
