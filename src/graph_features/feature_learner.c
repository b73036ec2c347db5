/*
 * Learning encoders from the training part: one pass over its graphs, before the first step. Of a
 * node set that a readout asks about, the items asked about are the training part, and values of
 * others are not looked at; of other sets, all items are.
 */
#include <inttypes.h>

#include "encoders.h"

/* One feature that is learned. */
typedef struct subject {
    const rgm_set_schema *set;
    const rgm_feature_schema *feature;
    rgmi_encoding encoding;
    rgmi_collected collected;
} subject;

struct rgm_feature_learner {
    const rgm_input_options *options;
    const rgm_schema *schema;
    subject *subjects;
    int64_t count, capacity;
    rgm_learned_features *learned;
};

void rgm_feature_learner_release(rgm_feature_learner *l)
{
    for (int64_t i = 0; l != NULL && i < l->count; i++) {
        rgmi_collected *c = &l->subjects[i].collected;

        rgm_map_release(c->counts);
        rgm_free(c->sum);
        rgm_free(c->squares);
        rgm_free(c->low);
        rgm_free(c->high);
        rgm_free(c->values);
    }
    if (l == NULL)
        return;
    rgm_free(l->subjects);
    rgm_learned_features_release(l->learned);
    rgm_free(l);
}

/* ---- what there is to learn ------------------------------------------------------------------ */

static bool is_ragged(const rgm_feature_schema *f)
{
    for (int k = 0; k < f->rank; k++)
        if (f->shape[k] < 0)
            return true;
    return false;
}

static rgm_status refuse(const subject *s, const char *why)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "model.input.%s: feature '%s' of %s set '%s' %s",
                    s->encoding.encoder->key, s->feature->name,
                    s->set->piece == RGM_NODE_SET ? "node" : "edge", s->set->name, why);
}

static rgm_status check_subject(const subject *s)
{
    const rgmi_encoder *encoder = s->encoding.encoder;
    const rgm_feature_schema *f = s->feature;
    bool integers = f->dtype == RGM_I32 || f->dtype == RGM_I64;
    bool floats = f->dtype == RGM_F32 || f->dtype == RGM_F64;

    if (f->vocabulary > 0)
        return refuse(s, "lists columns of one_hot rows: nothing is to be learned of it");
    if (encoder->finite && !integers && !floats)
        return refuse(s, "is not of numbers");
    if (!encoder->finite && !integers && f->dtype != RGM_STRING)
        return refuse(s, "is neither of integers nor of texts");
    if (encoder->rows != NULL && is_ragged(f))
        return refuse(s, "is ragged: lists are categories, for an embedding");
    if (is_ragged(f) && f->rank > 1)
        return refuse(s, "is ragged in several dims: lists of values can be, lists of lists not");
    if (encoder->finite && encoder->lookup != NULL && s->collected.width > 1)
        return refuse(s, "has several numbers an item, which buckets are not for");
    return RGM_OK;
}

static rgm_status add_subject(rgm_feature_learner *l, const rgm_set_schema *set,
                              const rgm_feature_schema *f)
{
    subject *s;
    rgmi_encoding e = rgmi_encoding_of(l->options, set->piece, set->name, f->name);

    if (e.encoder == NULL || e.encoder->add == NULL)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(l->subjects, l->capacity, l->count + 1));
    s = &l->subjects[l->count++];
    *s = (subject){.set = set, .feature = f, .encoding = e};
    s->collected.of_texts = f->dtype == RGM_STRING;
    s->collected.width = 1;
    for (int k = 0; k < f->rank; k++)
        s->collected.width *= f->shape[k] < 0 ? 1 : f->shape[k];
    return check_subject(s);
}

static rgm_status list_subjects(rgm_feature_learner *l, const rgm_schema *schema)
{
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_CONTEXT_PIECE || rgm_is_aux_set(set->name))
            continue;
        for (int64_t k = 0; k < set->feature_count; k++)
            RGM_TRY(add_subject(l, set, &set->features[k]));
    }
    for (int64_t i = 0; i < l->count; i++) /* the array stays where it is from here on */
        l->subjects[i].collected.encoding = &l->subjects[i].encoding;
    return RGM_OK;
}

/* ---- looking at values ----------------------------------------------------------------------- */

/* Which items of a node set readouts ask about; *out is NULL where none does. */
static rgm_status asked_items(bool **out, const rgm_graph *graph, const rgm_set_schema *of)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    *out = NULL;
    for (int64_t i = 0; of->piece == RGM_NODE_SET && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        const rgm_tensor *source;

        if (set->piece != RGM_EDGE_SET || strcmp(set->source, of->name) != 0 ||
            strncmp(set->target, RGM_READOUT, strlen(RGM_READOUT)) != 0)
            continue;
        if (*out == NULL)
            RGM_TRY(RGM_NEW(*out, rgm_graph_total(graph, RGM_NODE_SET, of->name)));
        source = rgm_graph_source(graph, set->name);
        for (int64_t e = 0; source != NULL && e < rgm_tensor_count(source); e++)
            (*out)[rgm_tensor_at_int(source, e)] = true;
    }
    return RGM_OK;
}

static rgm_status look_at(subject *s, const rgm_feature *feature, const bool *asked, int64_t items)
{
    rgmi_collected *c = &s->collected;
    const rgm_tensor *lengths = feature->row_lengths[1];
    int64_t begin = 0;

    for (int64_t item = 0; item < items; item++) {
        int64_t each = lengths != NULL ? rgm_tensor_i64(lengths)[item] : c->width;

        for (int64_t k = 0; (asked == NULL || asked[item]) && k < each; k++) {
            RGM_TRY(
                s->encoding.encoder->add(c, feature->values, begin + k, lengths != NULL ? 0 : k));
            c->seen++;
        }
        begin += each;
    }
    return RGM_OK;
}

rgm_status rgm_feature_learner_add(rgm_feature_learner *l, const rgm_graph *graph)
{
    RGM_TRY(rgm_input_features_finite(l->options, graph));
    for (int64_t i = 0; i < l->count; i++) {
        subject *s = &l->subjects[i];
        const rgm_feature *feature =
            rgm_graph_feature(graph, s->set->piece, s->set->name, s->feature->name);
        rgm_status status;
        bool *asked;

        if (feature == NULL)
            return RGM_FAIL(RGM_ERR_DATA,
                            "set '%s': feature '%s' is absent, of which "
                            "model.input.%s learns",
                            s->set->name, s->feature->name, s->encoding.encoder->key);
        status = asked_items(&asked, graph, s->set);
        if (status == RGM_OK)
            status =
                look_at(s, feature, asked, rgm_graph_total(graph, s->set->piece, s->set->name));
        rgm_free(asked);
        RGM_TRY(status);
    }
    return RGM_OK;
}

/* ---- nodes that are known by their numbers --------------------------------------------------- */

bool rgm_feature_learner_counts(const rgm_feature_learner *l)
{
    return l->options->latent > 0 || l->options->embeddings.count > 0;
}

rgm_status rgm_feature_learner_count(rgm_feature_learner *l, const rgm_graph *whole,
                                     const char *why)
{
    l->learned->why = why;
    for (int64_t i = 0; i < rgm_schema_set_count(l->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(l->schema, i);
        int64_t nodes = whole != NULL ? -1 : set->cardinality;
        rgmi_learned *learned;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name) ||
            (l->options->latent == 0 && rgmi_named_embedding(l->options, set->name) == 0))
            continue;
        if (whole != NULL)
            nodes = rgm_graph_total(whole, RGM_NODE_SET, set->name);
        else if (rgm_set_feature(set, "#id") == NULL)
            continue;
        if (nodes < 0 ||
            (l->options->latent > 0 && rgmi_named_embedding(l->options, set->name) == 0 &&
             rgmi_has_inputs(set, l->options)))
            continue;
        RGM_TRY(rgmi_learned_add(&learned, l->learned, RGM_NODE_SET, set->name, NULL));
        learned->nodes = nodes;
    }
    return RGM_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static rgm_status conclude(rgm_feature_learner *l)
{
    for (int64_t i = 0; i < l->count; i++) {
        subject *s = &l->subjects[i];
        rgmi_learned *learned;
        rgm_status status;

        RGM_TRY(
            rgmi_learned_add(&learned, l->learned, s->set->piece, s->set->name, s->feature->name));
        learned->encoder = s->encoding.encoder;
        learned->seen = s->collected.seen;
        status = s->encoding.encoder->learn(learned, &s->collected);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "set '%s', feature '%s'", s->set->name,
                                    s->feature->name);
    }
    return rgmi_learned_print(l->learned);
}

rgm_status rgm_feature_learner_create(rgm_feature_learner **out, const rgm_input_options *options,
                                      const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_feature_learner *l;

    *out = NULL;
    RGM_TRY(rgmi_input_options_check(options));
    RGM_TRY(RGM_NEW(l, 1));
    l->options = options;
    l->schema = schema;
    RGM_GO(rgmi_learned_create(&l->learned));
    RGM_GO(list_subjects(l, schema));
    *out = l;
    l = NULL;
done:
    rgm_feature_learner_release(l);
    return status;
}

bool rgm_feature_learner_looks(const rgm_feature_learner *l)
{
    return l->count > 0;
}

rgm_status rgm_feature_learner_finish(rgm_learned_features **out, rgm_feature_learner *l)
{
    *out = NULL;
    RGM_TRY(conclude(l));
    *out = l->learned;
    l->learned = NULL;
    return RGM_OK;
}
