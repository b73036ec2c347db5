/*
 * New graphs as the model knows graphs: the sets and features of the run's schema, whatever else
 * there is. What the model reads must be there and be what it was.
 */
#include <stdio.h>

#include <regimen/graph_parts.h>

#include "new_graphs.h"

/* ---- features ------------------------------------------------------------------------------ */

static bool same_shape(const rgm_feature_schema *a, const rgm_feature_schema *b)
{
    bool same = a->rank == b->rank && a->vocabulary == b->vocabulary;

    for (int i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static bool is_integer(rgm_dtype dtype)
{
    return dtype == RGM_I32 || dtype == RGM_I64;
}

static bool is_float(rgm_dtype dtype)
{
    return dtype == RGM_F32 || dtype == RGM_F64;
}

/* Integers are numbers, so columns without a fraction by chance are what they were. */
rgmi_fit rgmi_feature_fit(const rgm_feature_schema *from, const rgm_feature_schema *to)
{
    if (!same_shape(from, to))
        return RGMI_DIFFERS;
    if (from->dtype == to->dtype)
        return RGMI_FITS;
    if (to->vocabulary > 0 || rgm_feature_is_ragged(to))
        return RGMI_DIFFERS;
    if (is_float(to->dtype) && (is_integer(from->dtype) || is_float(from->dtype)))
        return RGMI_CONVERTS;
    return to->dtype == RGM_I64 && from->dtype == RGM_I32 ? RGMI_CONVERTS : RGMI_DIFFERS;
}

static rgm_status convert(rgm_feature *out, const rgm_tensor *from, rgm_dtype dtype)
{
    rgm_dtype old = rgm_tensor_dtype(from);
    size_t size = rgm_dtype_size(dtype);
    char *to;

    RGM_TRY(rgm_tensor_create(&out->values, dtype, rgm_tensor_rank(from), rgm_tensor_shape(from)));
    to = rgm_tensor_data(out->values);
    for (int64_t i = 0; i < rgm_tensor_count(from); i++, to += size) {
        double value = rgm_tensor_at(from, i);

        if (is_integer(old) && value == rgm_dtype_missing(old))
            value = rgm_dtype_missing(dtype);
        rgm_dtype_put(to, dtype, value);
    }
    return RGM_OK;
}

/* ---- what is expected ---------------------------------------------------------------------- */

/* "integers", "3 floats", "lists of integers", "texts" */
static rgm_status say_kind(rgm_text *out, const rgm_feature_schema *f)
{
    const char *what = f->dtype == RGM_STRING ? "text"
                       : is_integer(f->dtype) ? "integer"
                       : f->dtype == RGM_BOOL ? "truth value"
                                              : "float";
    int64_t width = 1;

    if (f->vocabulary > 0)
        return rgm_text_printf(out, "a row of 0 and 1 in %lld columns", (long long)f->vocabulary);
    if (rgm_feature_is_ragged(f))
        return rgm_text_printf(out, "a list of %ss", what);
    for (int i = 0; i < f->rank; i++)
        width *= f->shape[i];
    if (f->rank == 0)
        return rgm_text_printf(out, "one %s", what);
    return rgm_text_printf(out, "%lld %s%s", (long long)width, what, width == 1 ? "" : "s");
}

/* The file that a set's feature was to be in. */
static rgm_status say_file(rgm_text *out, const rgmi_new_graphs *self, const rgm_set_schema *set)
{
    const char *slash = strrchr(self->path, '/');
    bool folder = rgm_path_is_folder(self->path);
    char *raw;

    if (set == NULL || set->filename == NULL) {
        RGM_TRY(rgm_path_join(&raw, self->path, "raw")); /* of OGB's files */
        folder = rgm_path_is_folder(raw);
        rgm_free(raw);
        return rgm_text_printf(out, "%s%s", self->path, folder ? "/raw" : "");
    }
    if (set->filename[0] == '/')
        return rgm_text_printf(out, "%s", set->filename);
    if (folder)
        return rgm_text_printf(out, "%s/%s", self->path, set->filename);
    return slash == NULL ? rgm_text_printf(out, "%s", set->filename)
                         : rgm_text_printf(out, "%.*s/%s", (int)(slash - self->path), self->path,
                                           set->filename);
}

static rgm_status refuse(const rgmi_new_graphs *self, const rgm_set_schema *set,
                         const rgm_feature_schema *wanted, const rgm_feature_schema *found)
{
    rgm_status status = RGM_OK;
    rgm_text file = {0}, kind = {0}, other = {0};
    char title[RGM_SET_TITLE];
    bool columns = set->filename != NULL;

    RGM_GO(say_file(&file, self, found == NULL ? set : NULL));
    RGM_GO(say_kind(&kind, wanted));
    if (found != NULL)
        RGM_GO(say_kind(&other, found));
    rgm_set_title(set, title, sizeof title);
    if (found != NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                        "%s: %s: feature '%s' is %s an item, but the model was trained with %s",
                        file.data, title, wanted->name, other.data, kind.data));
    RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                    "%s: no %s '%s%s' for %s, which the model reads: %s an item was expected",
                    file.data, columns ? "column" : "feature", wanted->name,
                    columns && wanted->rank > 0 ? ".0" : "", title, kind.data));
done:
    rgm_text_clear(&file);
    rgm_text_clear(&kind);
    rgm_text_clear(&other);
    return status;
}

static bool reads(const rgmi_new_graphs *self, const rgm_set_schema *set, const char *feature)
{
    return rgm_reads_feature(self->learning->root, set->piece, set->name, feature);
}

/* What a sampler puts there. */
static bool is_sampled(const rgmi_new_graphs *self, const rgm_feature_schema *f)
{
    return f->name[0] == '#' || (self->sampled && strcmp(f->name, RGM_SAMPLING_WEIGHT) == 0);
}

static bool is_label(const rgmi_new_graphs *self, const rgm_set_schema *set, const char *feature)
{
    return rgmi_learning_is_label(self->learning, set, feature);
}

/* ---- the schema ---------------------------------------------------------------------------- */

/* The feature that says what items are called; NULL: none does. */
static const rgm_feature_schema *naming(const rgm_set_schema *set)
{
    static const char *const names[] = {RGM_ITEM_NAME, "id", "name"};

    for (int i = 0; i < 3; i++) {
        const rgm_feature_schema *f = rgm_set_feature(set, names[i]);

        if (f != NULL && f->rank == 0 &&
            (f->dtype == RGM_STRING || (i == 1 && is_integer(f->dtype))))
            return f;
    }
    return NULL;
}

static rgm_status check_ends(const rgmi_new_graphs *self, const rgm_set_schema *wanted,
                             const rgm_set_schema *found)
{
    char title[RGM_SET_TITLE];

    if (wanted->piece != RGM_EDGE_SET ||
        (strcmp(wanted->source, found->source) == 0 && strcmp(wanted->target, found->target) == 0))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA,
                    "%s: %s goes from '%s' to '%s', but the model was trained with '%s' to '%s'",
                    self->path, rgm_set_title(found, title, sizeof title), found->source,
                    found->target, wanted->source, wanted->target);
}

/* Random walks end in an edge set of their own. */
static bool is_made(const rgmi_new_graphs *self, const rgm_set_schema *wanted)
{
    return wanted->piece == RGM_EDGE_SET &&
           self->learning->data->sampling.type == RGMI_SAMPLING_RANDOM_WALK;
}

/* The set of new data that is to be one of the run's; NULL: an auxiliary one that they need not
 * have. */
static rgm_status find_set(const rgm_set_schema **out, const rgmi_new_graphs *self,
                           const rgm_schema *from, const rgm_set_schema *wanted)
{
    char title[RGM_SET_TITLE];

    *out = rgm_schema_find(from, wanted->piece, wanted->name);
    if (*out != NULL)
        return check_ends(self, wanted, *out);
    if (rgm_is_aux_set(wanted->name) || (self->sampled && is_made(self, wanted)))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA, "%s: no %s, which the model was trained with%s", self->path,
                    rgm_set_title(wanted, title, sizeof title),
                    rgm_schema_hint(from, wanted->piece, wanted->name).text);
}

static rgm_status add_set(rgm_schema *target, const rgm_set_schema *set)
{
    if (set->piece == RGM_NODE_SET)
        return rgm_schema_add_node_set(target, set->name);
    return set->piece == RGM_EDGE_SET
               ? rgm_schema_add_edge_set(target, set->name, set->source, set->target)
               : RGM_OK;
}

/* A set of the run's, with what new data call its items. */
static rgm_status add_target(rgm_schema *target, const rgmi_new_graphs *self,
                             const rgm_set_schema *wanted, const rgm_set_schema *found)
{
    int64_t index;

    RGM_TRY(add_set(target, wanted));
    index = rgm_schema_index(target, wanted->piece, wanted->name);
    for (int64_t i = 0; i < wanted->feature_count; i++) {
        const rgm_feature_schema *f = &wanted->features[i], *have;

        have = found != NULL ? rgm_set_feature(found, f->name) : NULL;
        if (have == NULL && is_sampled(self, f) && (self->sampled || !reads(self, wanted, f->name)))
            continue;
        RGM_TRY(rgm_schema_add_feature_copy(target, index, f->name, f));
        if (found == NULL || is_label(self, wanted, f->name) || !reads(self, wanted, f->name))
            continue;
        if (have == NULL || rgmi_feature_fit(have, f) == RGMI_DIFFERS)
            return refuse(self, found, f, have);
    }
    if (found == NULL || rgm_is_aux_set(wanted->name) || naming(found) == NULL ||
        rgm_set_feature(wanted, RGM_ITEM_NAME) != NULL)
        return RGM_OK;
    return rgm_schema_add_feature(target, wanted->piece, wanted->name, RGM_ITEM_NAME, RGM_STRING, 0,
                                  NULL);
}

/* What a sampler may walk along to what the run has. */
static rgm_status add_others(rgm_schema *target, const rgmi_new_graphs *self,
                             const rgm_schema *from)
{
    for (int64_t i = 0; i < rgm_schema_set_count(from); i++) {
        const rgm_set_schema *set = rgm_schema_set(from, i);

        if (rgm_schema_find(target, set->piece, set->name) == NULL && !rgm_is_aux_set(set->name))
            RGM_TRY(add_target(target, self, set, set));
    }
    return RGM_OK;
}

/* Whether a task of the run asks by that set. */
static bool is_asked_by(const rgmi_learning *l, const rgm_set_schema *set)
{
    rgm_graph_question q;
    char edges[256];

    for (int64_t k = 0; k < l->task_count; k++) {
        if (!rgmi_question_of(&q, l, k) || q.key == NULL)
            continue;
        snprintf(edges, sizeof edges, "%s/%s", q.readout_set, q.key);
        if (strcmp(set->name, set->piece == RGM_EDGE_SET ? edges : q.readout_set) == 0)
            return true;
    }
    return false;
}

static rgm_status make_target(rgm_schema **out, const rgmi_new_graphs *self, const rgm_schema *from)
{
    rgm_status status = RGM_OK;
    const rgm_schema *wanted = self->learning->schema;
    rgm_schema *target = NULL;

    *out = NULL;
    RGM_GO(rgm_schema_create(&target));
    for (int64_t i = 0; i < rgm_schema_set_count(wanted); i++) {
        const rgm_set_schema *set = rgm_schema_set(wanted, i), *found;

        RGM_GO(find_set(&found, self, from, set));
        if (rgm_is_aux_set(set->name)
                ? !self->sampled && (found != NULL || is_asked_by(self->learning, set))
                : found != NULL)
            RGM_GO(add_target(target, self, set, found));
    }
    if (self->sampled)
        RGM_GO(add_others(target, self, from));
    RGM_GO(rgm_schema_check(target));
    *out = target;
    target = NULL;
done:
    rgm_schema_release(target);
    return status;
}

/* Graphs of one schema share one. */
static rgm_status open_target(rgmi_new_graphs *self, const rgm_graph *graph)
{
    const rgm_schema *from = rgm_graph_schema(graph);

    if (self->from == from)
        return RGM_OK;
    rgm_schema_release(self->target);
    rgm_schema_release(self->from);
    self->from = self->target = NULL;
    RGM_TRY(make_target(&self->target, self, from));
    self->from = rgm_schema_retain((rgm_schema *)from);
    return RGM_OK;
}

/* ---- the graph ----------------------------------------------------------------------------- */

/* Takes off what would come along under a name that it does not fit, and labels. */
static rgm_status strip(rgm_graph **graph, const rgmi_new_graphs *self)
{
    for (int64_t i = 0; i < rgm_schema_set_count(self->target); i++) {
        const rgm_set_schema *to = rgm_schema_set(self->target, i);
        const rgm_set_schema *set = rgm_schema_find(self->from, to->piece, to->name);

        for (int64_t k = 0; set != NULL && k < to->feature_count; k++) {
            const rgm_feature_schema *f = rgm_set_feature(set, to->features[k].name);
            rgm_graph *next;

            if (f == NULL || (rgmi_feature_fit(f, &to->features[k]) == RGMI_FITS &&
                              !is_label(self, to, f->name)))
                continue;
            RGM_TRY(rgm_graph_without_feature(&next, *graph, set->piece, set->name, f->name));
            rgmi_step_to(graph, next);
        }
    }
    return RGM_OK;
}

/* Texts of integers, which are what a table calls its rows, too. */
static rgm_status texts_of(rgm_feature *out, const rgm_tensor *numbers)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_tensor_count(numbers);
    rgm_str *texts = NULL;
    char *digits = NULL;

    RGM_GO(RGM_NEW(texts, count));
    RGM_GO(RGM_NEW(digits, 24 * count));
    for (int64_t i = 0; i < count; i++) {
        char *at = digits + 24 * i;

        texts[i].size = snprintf(at, 24, "%lld", (long long)rgm_tensor_at_int(numbers, i));
        texts[i].data = at;
    }
    RGM_GO(rgm_tensor_create_from(&out->values, RGM_STRING, 1, &count, texts));
done:
    rgm_free(texts);
    rgm_free(digits);
    return status;
}

/* Feature k of a target's set: converted, or made of the feature that names items. */
static rgm_status fill(rgm_feature *value, const rgm_set_schema *set, const rgm_feature_schema *to,
                       const rgm_graph *graph)
{
    const rgm_feature_schema *f = rgm_set_feature(set, to->name);
    const rgm_feature *have;

    if (f == NULL && strcmp(to->name, RGM_ITEM_NAME) == 0)
        f = naming(set);
    have = f != NULL ? rgm_graph_feature(graph, set->piece, set->name, f->name) : NULL;
    if (have == NULL)
        return RGM_OK;
    if (strcmp(to->name, RGM_ITEM_NAME) != 0)
        return convert(value, have->values, to->dtype);
    if (is_integer(f->dtype))
        return texts_of(value, have->values);
    rgm_feature_retain(value, have);
    return RGM_OK;
}

/* What strip() took off and what is called otherwise. */
static rgm_status fill_all(rgm_graph *made, const rgmi_new_graphs *self, const rgm_graph *graph)
{
    for (int64_t i = 0; i < rgm_schema_set_count(self->target); i++) {
        const rgm_set_schema *to = rgm_schema_set(self->target, i);
        const rgm_set_schema *set = rgm_schema_find(self->from, to->piece, to->name);

        for (int64_t k = 0; set != NULL && k < to->feature_count; k++) {
            const rgm_feature_schema *f = rgm_set_feature(set, to->features[k].name);
            bool names = f == NULL && strcmp(to->features[k].name, RGM_ITEM_NAME) == 0;
            rgm_feature value = {0};

            if ((!names && (f == NULL || rgmi_feature_fit(f, &to->features[k]) != RGMI_CONVERTS)) ||
                is_label(self, to, to->features[k].name))
                continue;
            RGM_TRY(fill(&value, set, &to->features[k], graph));
            if (value.values != NULL)
                RGM_TRY(rgm_graph_put_feature(made, i, k, &value));
        }
    }
    return RGM_OK;
}

/* A feature of the schema may be absent from a graph. */
static rgm_status check_there(const rgmi_new_graphs *self, const rgm_graph *graph)
{
    for (int64_t i = 0; i < rgm_schema_set_count(self->target); i++) {
        const rgm_set_schema *to = rgm_schema_set(self->target, i);
        const rgm_set_schema *set = rgm_schema_find(self->from, to->piece, to->name);

        for (int64_t k = 0; set != NULL && k < to->feature_count; k++) {
            const rgm_feature_schema *f = &to->features[k];

            if (reads(self, to, f->name) && !is_label(self, to, f->name) &&
                !rgm_graph_has_feature(graph, to->piece, to->name, f->name))
                return refuse(self, set, f, NULL);
        }
    }
    return RGM_OK;
}

/* ---- nodes that are known by name ---------------------------------------------------------- */

/* What triples number is known by its place among the names of training, in FILE of the run. */
static rgm_status check_names(const rgmi_new_graphs *self, const rgm_feature *here,
                              const rgm_text *names, const char *what, const char *file)
{
    const char *rest = NULL;
    rgm_str wanted;

    if (names->size == 0)
        return RGM_OK;
    if (here == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "%s: there are no names of %s, by which the model knows them",
                        self->path, what);
    for (int64_t i = 0; rgmi_next_name(&wanted, &rest, names); i++) {
        rgm_str found = rgmi_text_of(here, i);

        if (found.size != wanted.size ||
            (found.size > 0 && memcmp(found.data, wanted.data, (size_t)found.size) != 0))
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: number %lld of %s is '%.*s', but '%.*s' in training (%s): the "
                            "model knows them by their places, so new data have the same names in "
                            "the same order",
                            self->path, (long long)i, what,
                            (int)(found.size < 64 ? found.size : 64),
                            found.size > 0 ? found.data : "",
                            (int)(wanted.size < 64 ? wanted.size : 64), wanted.data, file);
    }
    return RGM_OK;
}

static rgm_status check_triples(const rgmi_new_graphs *self, const rgm_graph *graph)
{
    const rgmi_learning *l = self->learning;
    const char *set = rgmi_only_set(l->schema, RGM_NODE_SET);

    if (set == NULL)
        return RGM_OK;
    if (rgm_learned_features_nodes(l->learned, set) >= 0)
        RGM_TRY(check_names(self, rgm_graph_feature(graph, RGM_NODE_SET, set, RGM_ITEM_NAME),
                            &l->inputs.entities, "the entities", RGMI_ENTITIES_FILE));
    return check_names(self, rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, RGM_RELATION_NAMES),
                       &l->inputs.relations, "the relations", RGMI_RELATIONS_FILE);
}

rgm_status rgmi_new_graph_fit(rgm_graph **out, rgmi_new_graphs *self, rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgm_graph *stripped = rgm_graph_retain(graph), *made = NULL;

    *out = NULL;
    RGM_GO(open_target(self, graph));
    RGM_GO(strip(&stripped, self));
    RGM_GO(rgm_graph_begin_from(&made, self->target, stripped));
    RGM_GO(fill_all(made, self, graph));
    RGM_GO(rgm_graph_seal(made));
    RGM_GO(check_there(self, made));
    RGM_GO(check_triples(self, made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_graph_release(stripped);
    return status;
}
