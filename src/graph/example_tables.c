/*
 * A graph as the tables that a tf.train.Example has, and how the inputs of a model come of them: so
 * that who serves an exported model feeds it what an Example says, without a library that sorts and
 * counts for him.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "example_codec.h"
#include "graph_value_internal.h"
#include "category_lookup.h"

/* ---- tables of a graph ----------------------------------------------------------------------- */

static rgm_status table_of(rgm_tensor **out, const rgm_graph *graph, const rgmi_codec_slot *slot)
{
    const rgmi_set *set = &graph->sets[slot->set];
    const rgmi_column *column = slot->kind == SLOT_VALUES || slot->kind == SLOT_LENGTHS
                                    ? set->columns[slot->feature]
                                    : NULL;
    rgm_tensor *tensor = NULL;

    *out = NULL;
    if (slot->kind == SLOT_SIZE)
        return rgmi_ints(out, set->items->components, set->items->sizes);
    if (slot->kind == SLOT_SOURCE)
        tensor = set->items->source;
    else if (slot->kind == SLOT_TARGET)
        tensor = set->items->target;
    else if (column != NULL && rgm_tensor_dtype(column->value.values) != RGM_STRING)
        tensor =
            slot->kind == SLOT_VALUES ? column->value.values : column->value.row_lengths[slot->dim];
    if (tensor != NULL)
        *out = rgm_tensor_retain(tensor);
    return RGM_OK;
}

rgm_status rgm_graph_tables(rgm_named_tensor **tables, int64_t *count, const rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgm_named_tensor *made = NULL;
    rgmi_codec *codec;
    char *name = NULL;
    int64_t n = 0;

    *tables = NULL;
    *count = 0;
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgmi_codec_get(&codec, graph->schema));
    RGM_GO(RGM_NEW(made, codec->slot_count));
    for (int64_t i = 0; i < codec->slot_count; i++) {
        RGM_GO(table_of(&made[n].tensor, graph, &codec->slots[i]));
        if (made[n].tensor == NULL)
            continue;
        RGM_GO(rgm_strdup(&name, codec->slots[i].key));
        made[n++].name = name;
    }
    *tables = made;
    *count = n;
    return RGM_OK;
done:
    rgm_onnx_inputs_release(made, made != NULL ? n + 1 : 0);
    return status;
}

/* ---- tables of inputs ------------------------------------------------------------------------ */

/* What a description is made with. The first failure stays. */
typedef struct describing {
    const rgm_graph_value *root;
    rgm_arena *arena;
    rgm_status status;
} describing;

static const char *text_of(describing *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *text_of(describing *d, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int size;

    if (d->status != RGM_OK)
        return "";
    va_start(args, format);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = rgm_arena_alloc(d->arena, (size_t)size + 1);
    if (text == NULL) {
        d->status = RGM_FAIL(RGM_ERR_NOMEM, "out of memory: tables of a graph");
        return "";
    }
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

static const char *key_of(describing *d, const rgm_set_schema *set, const char *name)
{
    if (set->piece == RGM_CONTEXT_PIECE)
        return text_of(d, "context/%s", name);
    return text_of(d, "%s/%s.%s", set->piece == RGM_NODE_SET ? "nodes" : "edges", set->name, name);
}

static const char *items_of(describing *d, const rgm_set_schema *set)
{
    if (set->piece == RGM_CONTEXT_PIECE)
        return "component";
    return text_of(d, "%s of '%s'", set->piece == RGM_NODE_SET ? "node" : "edge", set->name);
}

static rgm_onnx_table vector(const char *name, rgm_dim size, const char *doc)
{
    return (rgm_onnx_table){.name = name, .dtype = RGM_I64, .rank = 1, .shape = {size}, .doc = doc};
}

static rgm_onnx_table size_table(describing *d, int64_t set)
{
    const rgm_set_schema *s = d->root->schema->sets[set];

    return vector(key_of(d, s, "#size"), rgmi_fed_size(d->root, 0),
                  text_of(d,
                          "how many %ss of '%s' each component has, in the components' order; a "
                          "graph alone is one component",
                          s->piece == RGM_NODE_SET ? "node" : "edge", s->name));
}

static rgm_onnx_table end_table(describing *d, int64_t set, rgm_tag end)
{
    const rgm_set_schema *s = d->root->schema->sets[set];
    bool source = end == RGM_SOURCE;
    rgm_onnx_table table = vector(
        key_of(d, s, source ? "#source" : "#target"), rgmi_fed_size(d->root, set),
        text_of(d,
                "the number, from 0 over all components, of the node of '%s' that each edge of "
                "'%s' %s; edges in any order, alike in all of their tables, those of a "
                "component together",
                source ? s->source : s->target, s->name, source ? "starts from" : "ends at"));

    table.counts = text_of(d, "nodes/%s.#size", source ? s->source : s->target);
    return table;
}

/* Values of all items; of ragged ones what one_hot features are. */
static rgm_onnx_table value_table(describing *d, int64_t set, int64_t feature, const char *meaning)
{
    const rgm_set_schema *s = d->root->schema->sets[set];
    const rgm_feature_schema *f = &s->features[feature];
    rgm_onnx_table table = {.name = key_of(d, s, f->name), .dtype = f->dtype, .rank = f->rank + 1};

    table.shape[0] = rgmi_fed_size(d->root, set);
    for (int k = 0; k < f->rank; k++)
        table.shape[k + 1] = f->shape[k];
    table.doc =
        text_of(d, "'%s' of each %s%s%s%s", f->name, items_of(d, s), meaning,
                f->description != NULL ? ": " : "", f->description != NULL ? f->description : "");
    return table;
}

/* Of lists the values of all of them, and how many each item has. */
static void describe_lists(describing *d, rgm_onnx_input *out, const rgmi_graph_input *in,
                           const char *meaning)
{
    const rgm_set_schema *s = d->root->schema->sets[in->set];
    const rgm_feature_schema *f = &s->features[in->feature];

    out->form = RGM_FORM_RAGGED;
    out->tables[0] = vector(key_of(d, s, f->name), rgm_value_shape(in->value)[2],
                            text_of(d, "what '%s' lists of each %s%s, one after the other", f->name,
                                    items_of(d, s), meaning));
    out->tables[0].dtype = f->dtype;
    out->tables[1] =
        vector(key_of(d, s, text_of(d, "%s.d1", f->name)), rgmi_fed_size(d->root, in->set),
               text_of(d, "how many of them each %s has", items_of(d, s)));
}

/* The file's search of what a lookup finds. */
static const rgm_onnx_search *search_of(describing *d, const rgm_lookup *lookup)
{
    rgm_onnx_search *search = rgm_arena_alloc(d->arena, sizeof *search);

    if (search == NULL) {
        d->status = RGM_FAIL(RGM_ERR_NOMEM, "out of memory: tables of a graph");
        return NULL;
    }
    *search = (rgm_onnx_search){.integers = lookup->integers,
                                .numbers = lookup->boundaries,
                                .columns = lookup->column,
                                .count = lookup->count,
                                .other = lookup->other};
    return search;
}

static void describe_lookup(describing *d, rgm_onnx_input *out, const rgmi_graph_input *in)
{
    const rgm_set_schema *s = d->root->schema->sets[in->set];
    const rgm_feature_schema *f = &s->features[in->feature];
    const rgm_lookup *lookup = in->lookup;
    const char *meaning = "";
    char title[RGM_SET_TITLE];

    if (f->dtype == RGM_STRING || lookup->kind == RGMI_LOOKUP_HASH) {
        rgm_set_title(s, title, sizeof title);
        if (d->status == RGM_OK)
            d->status = RGM_FAIL(
                RGM_ERR_UNSUPPORTED,
                "%s: feature '%s' is %s, for which exported graphs have no operators; "
                "export: [{type: predictor}] writes what rgm_predictor_open() "
                "serves",
                title, f->name, lookup->kind == RGMI_LOOKUP_HASH ? "hashed" : "text, looked up");
        return;
    }
    out->values = lookup->columns;
    if (lookup->kind == RGMI_LOOKUP_RANGE)
        meaning = text_of(d, ", each 0 to %" PRId64, lookup->columns - 1);
    else
        out->search = search_of(d, lookup);
    if (rgm_feature_last_ragged(f) > 0)
        describe_lists(d, out, in, meaning);
    else
        out->tables[0] = value_table(d, in->set, in->feature, meaning);
}

static void describe_input(describing *d, rgm_onnx_input *out, const rgmi_graph_input *in)
{
    static const rgm_onnx_form forms[] = {
        [INPUT_FEATURE] = RGM_FORM_DENSE,     [INPUT_SPARSE] = RGM_FORM_RAGGED,
        [INPUT_LOOKUP] = RGM_FORM_KINDS,      [INPUT_NUMBER] = RGM_FORM_NUMBERS,
        [INPUT_ADJACENCY] = RGM_FORM_ENTRIES, [INPUT_MEMBERSHIP] = RGM_FORM_SIZES,
        [INPUT_FIRST] = RGM_FORM_FIRSTS,      [INPUT_READOUT] = RGM_FORM_PICKS,
        [INPUT_REAL] = RGM_FORM_ONES};

    *out = (rgm_onnx_input){.input = in->value, .form = forms[in->kind]};
    switch (in->kind) {
    case INPUT_FEATURE:
        out->tables[0] = value_table(d, in->set, in->feature, "");
        break;
    case INPUT_LOOKUP:
        describe_lookup(d, out, in);
        break;
    case INPUT_NUMBER:
        out->tables[0] = size_table(d, in->set);
        break;
    case INPUT_SPARSE:
        describe_lists(d, out, in,
                       text_of(d, ", each 0 to %" PRId64, rgm_value_shape(in->value)[1] - 1));
        break;
    case INPUT_ADJACENCY:
    case INPUT_READOUT:
        out->tables[0] = end_table(d, in->set, RGM_TARGET);
        out->tables[1] = end_table(d, in->set, RGM_SOURCE);
        break;
    case INPUT_MEMBERSHIP:
    case INPUT_FIRST:
        if (in->set == 0) /* each component has itself */
            out->form = RGM_FORM_IDENTITY;
        else
            out->tables[0] = size_table(d, in->set);
        break;
    case INPUT_REAL:
        break;
    }
}

/* Each set's size is the sum of its table, components are counted by that of any set. */
static int64_t describe_sizes(describing *d, rgm_onnx_size *sizes)
{
    const rgm_schema *schema = d->root->schema;
    int64_t count = 0;

    for (int64_t i = 1; i < schema->set_count; i++)
        sizes[count++] =
            (rgm_onnx_size){.dim = rgmi_fed_size(d->root, i), .table = size_table(d, i)};
    if (count > 0)
        sizes[count++] = (rgm_onnx_size){
            .dim = rgmi_fed_size(d->root, 0), .table = sizes[0].table, .is_count = true};
    return count;
}

rgm_status rgm_graph_value_tables(rgm_onnx_options *options, const rgm_graph_value *graph)
{
    rgm_graph_value *root = graph->root;
    describing d = {.root = root};
    rgm_onnx_input *inputs;
    rgm_onnx_size *sizes;

    rgm_arena_release(root->tables);
    root->tables = NULL;
    RGM_TRY(rgm_arena_create(&root->tables));
    d.arena = root->tables;
    inputs = rgm_arena_alloc(d.arena, (size_t)(root->input_count + 1) * sizeof *inputs);
    sizes = rgm_arena_alloc(d.arena, (size_t)(root->schema->set_count + 1) * sizeof *sizes);
    if (inputs == NULL || sizes == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: tables of a graph");
    for (int64_t i = 0; i < root->input_count; i++)
        describe_input(&d, &inputs[i], &root->inputs[i]);
    options->sizes = sizes;
    options->size_count = describe_sizes(&d, sizes);
    options->inputs = inputs;
    options->input_count = root->input_count;
    return d.status;
}
