/*
 * Values of new data that no vocabulary has: counted by feature, graph after graph.
 */
#include <inttypes.h>

#include "encoders.h"

typedef struct counted {
    const rgmi_learned *learned; /* a vocabulary */
    rgm_lookup *lookup;          /* its last column is that of all others */
    int64_t values, unseen;
    rgm_text first; /* the first unseen value as text */
} counted;

struct rgm_unseen_values {
    rgm_learned_features *learned;
    counted *items;
    int64_t count;
};

static rgm_status add_vocabulary(rgm_unseen_values *u, const rgmi_learned *l)
{
    counted *c = &u->items[u->count++];

    c->learned = l;
    return l->of_texts ? rgm_lookup_texts(&c->lookup, rgm_tensor_data(l->texts), l->count, true)
                       : rgm_lookup_integers(&c->lookup, l->integers, l->count, true);
}

rgm_status rgm_unseen_values_create(rgm_unseen_values **out, rgm_learned_features *learned)
{
    rgm_status status = RGM_OK;
    rgm_unseen_values *u = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(u, 1));
    u->learned = rgm_learned_features_retain(learned);
    RGM_GO(RGM_NEW(u->items, rgm_learned_features_count(learned)));
    for (int64_t i = 0; i < rgm_learned_features_count(learned); i++)
        if (learned->items[i].encoder == &rgmi_vocabulary_encoder)
            RGM_GO(add_vocabulary(u, &learned->items[i]));
    *out = u;
    u = NULL;
done:
    rgm_unseen_values_release(u);
    return status;
}

void rgm_unseen_values_release(rgm_unseen_values *u)
{
    if (u == NULL)
        return;
    for (int64_t i = 0; u->items != NULL && i < u->count; i++) {
        rgm_lookup_release(u->items[i].lookup);
        rgm_text_clear(&u->items[i].first);
    }
    rgm_free(u->items);
    rgm_learned_features_release(u->learned);
    rgm_free(u);
}

static rgm_status say_first(counted *c, const rgm_tensor *values, int64_t i)
{
    const rgm_str *texts = rgm_tensor_data(values);
    rgm_status status = RGM_OK;
    char *text = NULL;

    if (rgm_tensor_dtype(values) != RGM_STRING)
        return rgm_text_printf(&c->first, "%" PRId64, rgm_tensor_at_int(values, i));
    RGM_GO(rgm_strprintf(&text, "%.*s", (int)(texts[i].size < 40 ? texts[i].size : 40),
                         texts[i].size > 0 ? texts[i].data : ""));
    RGM_GO(rgm_text_printf(&c->first, "\""));
    RGM_GO(rgm_text_add_visible(&c->first, text));
    RGM_GO(rgm_text_printf(&c->first, "\""));
done:
    rgm_free(text);
    return status;
}

/* Entry e of the pattern is value e. */
static rgm_status count_one(counted *c, const rgm_graph *graph)
{
    const rgmi_learned *l = c->learned;
    const rgm_feature *f;
    rgm_pattern *pattern;
    const int32_t *columns;
    int64_t width = rgm_lookup_columns(c->lookup), count;

    if (rgm_schema_find(rgm_graph_schema(graph), l->piece, l->set) == NULL)
        return RGM_OK;
    f = rgm_graph_feature(graph, l->piece, l->set, l->feature);
    if (f == NULL)
        return RGM_OK;
    RGM_TRY(rgm_graph_lookup(&pattern, graph, l->piece, l->set, l->feature, c->lookup));
    columns = rgm_pattern_column_of(pattern);
    count = rgm_tensor_count(f->values);
    c->values += count;
    for (int64_t e = 0; e < count; e++) {
        if (columns[e] % width != width - 1)
            continue;
        if (c->unseen++ == 0)
            RGM_TRY(say_first(c, f->values, e));
    }
    return RGM_OK;
}

rgm_status rgm_unseen_values_add(rgm_unseen_values *u, const rgm_graph *graph)
{
    for (int64_t i = 0; i < u->count; i++)
        RGM_TRY(count_one(&u->items[i], graph));
    return RGM_OK;
}

int64_t rgm_unseen_values_count(const rgm_unseen_values *u)
{
    int64_t count = 0;

    for (int64_t i = 0; i < u->count; i++)
        count += u->items[i].unseen;
    return count;
}

rgm_status rgm_unseen_values_describe(rgm_text *out, const rgm_unseen_values *u)
{
    const char *between = "";

    for (int64_t i = 0; i < u->count; i++) {
        const counted *c = &u->items[i];

        if (c->unseen == 0)
            continue;
        RGM_TRY(rgm_text_printf(out, "%s", between));
        RGM_TRY(rgm_text_add_visible(out, c->learned->set));
        RGM_TRY(rgm_text_printf(out, "."));
        RGM_TRY(rgm_text_add_visible(out, c->learned->feature));
        RGM_TRY(rgm_text_printf(out, " %" PRId64 " of %" PRId64 " values, the first %s", c->unseen,
                                c->values, c->first.data));
        between = "; ";
    }
    return RGM_OK;
}
