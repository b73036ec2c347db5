/*
 * Values by rounds. Where items hear of each other, everything is read from and gathered into
 * values of items; those are cut out. What lies between is made row by row, or entry by entry of
 * what both ends have, so a round needs of other items nothing but what earlier rounds have made.
 */
#include "autodiff_internal.h"

/** What is known of a value. */
typedef struct known {
    bool needed;
    bool free;    /* of no input, and the same for all items: parameters and constants */
    bool local;   /* an item is made of its own features alone */
    bool hears;   /* it depends on what came along a link */
    bool entries; /* its rows are entries, else items */
    bool cut;
    int64_t readers;
    int normed;     /* entries: the way whose rows they were normalised over + 1; 0: none */
    int64_t rounds; /* behind how many it can be made; of a cut: its round */
} known;

typedef struct finder {
    rgm_value *const *links;
    int64_t link_count;
    rgm_cgraph *graph;
    known *values; /* [count] by id */
    int64_t count;
    bool *rows; /* of the op looked at */
} finder;

/* The branch of an inference. */
static rgm_value *taken(rgm_value *v)
{
    while (v->type == &rgmi_when_training_op)
        v = v->in[1];
    return v;
}

static known *of(const finder *f, rgm_value *v)
{
    return &f->values[taken(v)->id];
}

/* Rows of zeros, which are made of something only to be as many. */
static bool is_zero(const rgm_value *v)
{
    return v->type == &rgmi_scale_op && v->attributes.number[0] == 0;
}

/* How many there are or whether there are any, as a number: within a chunk that would be of the
 * chunk. */
static bool is_count(const rgm_value *v)
{
    return (v->type == &rgmi_inverse_dim_op || v->type == &rgmi_by_rows_op) &&
           v->attributes.integer[0] < 0;
}

/* 2 link + 1 when it is turned; -1: made of no link. Loops make no difference here. */
static int way_of(const finder *f, const rgm_value *p)
{
    bool turned = false;

    for (; p->type != NULL; p = p->in[0])
        if (p->type == &rgmi_transpose_pattern_op)
            turned = !turned;
        else if (p->type != &rgmi_add_self_loops_op)
            return -1;
    for (int64_t i = 0; i < f->link_count; i++)
        if (f->links[i] == p)
            return (int)(2 * i + turned);
    return -1;
}

/* Rows are items, columns numbers of a vocabulary: each item's own. */
static bool is_own(const rgm_value *p)
{
    return p->type == NULL && p->s.shape[1] >= 0;
}

/* ---- ops along links ------------------------------------------------------------------------- */

typedef enum hop_kind {
    NO_HOP,
    GATHERS, /* to items, from entries (pool) or straight from items (sums) */
    SPREADS, /* to entries, from items */
    NORMS    /* entries over the rows of a way */
} hop_kind;

static const struct {
    const rgm_op_type *type;
    hop_kind kind;
} hops[] = {{&rgmi_degree_op, GATHERS},
            {&rgmi_pool_rows_op, GATHERS},
            {&rgmi_spmm_op, GATHERS},
            {&rgmi_broadcast_rows_op, SPREADS},
            {&rgmi_broadcast_columns_op, SPREADS},
            {&rgmi_gatv2_score_op, SPREADS},
            {&rgmi_sddmm_op, SPREADS},
            {&rgmi_softmax_rows_op, NORMS}};

static hop_kind hop_of(const rgm_value *v)
{
    for (size_t i = 0; i < sizeof hops / sizeof *hops; i++)
        if (hops[i].type == v->type)
            return hops[i].kind;
    return NO_HOP;
}

static rgm_status unsupported(const rgm_value *v, const char *what)
{
    return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                    "%s%s'%s' %s: these states are not defined by rounds, compute the graph as a "
                    "whole",
                    v->scope != NULL ? v->scope : "", v->scope != NULL ? ": " : "", v->type->name,
                    what);
}

/* What items hear of others is made before; entries were normalised where they are gathered. */
static rgm_status look_at_hop(const finder *f, rgm_value *v, int way)
{
    known *k = of(f, v);
    hop_kind kind = hop_of(v);

    if (kind == NO_HOP)
        return unsupported(v, "works along edges in a way that is not known here");
    k->hears = true;
    k->entries = kind != GATHERS;
    k->normed = kind == NORMS ? way + 1 : 0;
    for (int i = 1; i < v->inputs; i++) {
        known *in = of(f, v->in[i]);

        if (in->entries && in->normed != 0 && kind != SPREADS && in->normed != way + 1)
            return unsupported(v, "gathers entries at one end that are normalised at the other");
        if (!in->entries && in->hears)
            in->cut = true;
        else if (!in->hears && !in->local && !in->free)
            return unsupported(taken(v->in[i]), "makes an item out of all items");
    }
    k->cut = kind == GATHERS;
    return RGM_OK;
}

/* ---- all ops --------------------------------------------------------------------------------- */

/* Whether an item is made of its own features. */
static rgm_status look_at_own(const finder *f, rgm_value *v)
{
    known *k = of(f, v);
    bool known_rows = false;

    k->local = true;
    if (v->inputs > 0 && v->in[0]->s.is_pattern) {
        k->local = is_own(v->in[0]);
        for (int i = 1; i < v->inputs; i++)
            k->local = k->local && (of(f, v->in[i])->local || of(f, v->in[i])->free);
        return RGM_OK;
    }
    RGM_TRY(rgmi_row_needs(&known_rows, f->rows, v));
    /* Weights of edges with those of loops behind: each row is still of one of them. */
    if (v->type == &rgmi_concat_op && v->attributes.integer[0] == 0)
        for (int i = 0; i < v->inputs; i++)
            known_rows = f->rows[i] = true;
    for (int i = 0; i < v->inputs; i++)
        k->local = k->local &&
                   (of(f, v->in[i])->free || (known_rows && f->rows[i] && of(f, v->in[i])->local));
    return RGM_OK;
}

/* Row by row of what hears: items of items, entries of entries. */
static rgm_status look_at_rows(const finder *f, rgm_value *v)
{
    known *k = of(f, v);
    bool known_rows;

    RGM_TRY(rgmi_row_needs(&known_rows, f->rows, v));
    for (int i = 0; i < v->inputs; i++) {
        known *in = of(f, v->in[i]);

        if (in->free)
            continue;
        if (!known_rows || !f->rows[i] || (!in->hears && !in->local))
            return unsupported(v, "makes an item out of all items");
        if (in->entries)
            k->entries = true;
        if (in->normed != 0 && k->normed != 0 && in->normed != k->normed)
            return unsupported(v, "joins entries that are normalised at two ends");
        k->normed = in->normed != 0 ? in->normed : k->normed;
    }
    k->hears = true;
    return RGM_OK;
}

static int last_symbol(const rgm_value *v)
{
    int last = v->s.rank - 1;

    while (last >= 0 && v->s.shape[last] >= 0)
        last--;
    return last;
}

/* A constant with a row for each item is as good as one row; a sum over its rows is a count. */
static rgm_status look_at_free(const finder *f, rgm_value *v)
{
    known *k = of(f, v);
    bool known_rows = false;

    if (v->type->elementwise || v->type == &rgmi_reshape_op || v->type == &rgmi_broadcast_to_op)
        return RGM_OK;
    RGM_TRY(rgmi_row_needs(&known_rows, f->rows, v));
    for (int i = 0; i < v->inputs; i++) {
        int last = last_symbol(v->in[i]);

        k->free = k->free && (last < 0 || (last == 0 && known_rows && f->rows[i]));
    }
    return RGM_OK;
}

static rgm_status look_at(const finder *f, rgm_value *v)
{
    known *k = &f->values[v->id];
    bool hears = false;
    int way;

    k->free = v->type != NULL || v->leaf != RGMI_INPUT;
    k->local = v->type == NULL || is_zero(v);
    if (is_zero(v) || is_count(v)) {
        k->free = false;
        return RGM_OK;
    }
    if (v->type == NULL || v->s.is_pattern || v->type == &rgmi_when_training_op)
        return RGM_OK;
    for (int i = 0; i < v->inputs; i++) {
        k->free = k->free && !v->in[i]->s.is_pattern && of(f, v->in[i])->free;
        hears = hears || of(f, v->in[i])->hears;
    }
    if (k->free)
        return look_at_free(f, v);
    way = v->in[0]->s.is_pattern ? way_of(f, v->in[0]) : -1;
    if (way >= 0)
        return look_at_hop(f, v, way);
    return hears ? look_at_rows(f, v) : look_at_own(f, v);
}

/* What the value is made of, and how often it is read. */
static void mark(const finder *f, rgm_value *value)
{
    f->values[taken(value)->id].needed = true;
    for (int64_t i = f->count - 1; i >= 0; i--) {
        rgm_value *v = f->graph->values[i];

        for (int k = 0; f->values[i].needed && !is_zero(v) && k < v->inputs; k++) {
            known *in = of(f, v->in[k]);

            in->needed = true;
            in->readers++;
        }
    }
}

/* States that several read, one of them through a product, are made once. */
static void cut_shared(const finder *f)
{
    for (int64_t i = 0; i < f->count; i++) {
        rgm_value *v = f->graph->values[i];
        known *in = f->values[i].needed && v->type == &rgmi_matmul_op ? of(f, v->in[0]) : NULL;

        if (in != NULL && in->hears && !in->entries && in->readers > 1)
            in->cut = true;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Which ways lead into a value, on this side of what is cut. */
static void add_ways(const finder *f, uint8_t *ways, const rgm_value *v)
{
    int way = v->inputs > 0 && v->in[0]->s.is_pattern ? way_of(f, v->in[0]) : -1;

    if (way >= 0 && hop_of(v) == GATHERS)
        ways[way / 2] |= way % 2 ? RGM_ROUND_BY_COLUMNS : RGM_ROUND_BY_ROWS;
}

static void number(const finder *f)
{
    for (int64_t i = 0; i < f->count; i++) {
        const rgm_value *v = f->graph->values[i];
        known *k = &f->values[i];

        if (!k->needed)
            continue;
        for (int j = 0; j < v->inputs; j++) {
            const known *in = of(f, v->in[j]);
            int64_t behind = in->rounds + in->cut;

            k->rounds = behind > k->rounds ? behind : k->rounds;
        }
    }
}

/* Values of one round may read along what another of it needs not, so each has its own ways; a cut
 * is gathered in one op, and what is made of it row by row has none. */
static rgm_status give(rgm_rounds *out, const finder *f)
{
    int64_t at = 0;

    for (int64_t i = 0; i < f->count; i++)
        if (f->values[i].needed && f->values[i].cut) {
            out->count++;
            if (f->values[i].rounds + 1 > out->round_count)
                out->round_count = f->values[i].rounds + 1;
        }
    RGM_TRY(RGM_NEW(out->values, out->count));
    RGM_TRY(RGM_NEW(out->ways, out->count * f->link_count));
    for (int64_t round = 0; round < out->round_count; round++)
        for (int64_t i = 0; i < f->count; i++) {
            rgm_value *v = f->graph->values[i];
            uint8_t *ways = out->ways + at * f->link_count;

            if (!f->values[i].needed || !f->values[i].cut || f->values[i].rounds != round)
                continue;
            add_ways(f, ways, v);
            out->values[at++] = (rgm_round_value){v, round, ways};
        }
    return RGM_OK;
}

void rgm_rounds_clear(rgm_rounds *rounds)
{
    rgm_free(rounds->values);
    rgm_free(rounds->ways);
    *rounds = (rgm_rounds){.count = 0};
}

static rgm_status find(rgm_rounds *out, finder *f, rgm_value *value)
{
    int widest = 1;

    for (int64_t i = 0; i < f->count; i++)
        widest = f->graph->values[i]->inputs > widest ? f->graph->values[i]->inputs : widest;
    RGM_TRY(RGM_NEW(f->values, f->count));
    RGM_TRY(RGM_NEW(f->rows, widest));
    mark(f, value);
    for (int64_t i = 0; i < f->count; i++)
        if (f->values[i].needed)
            RGM_TRY(look_at(f, f->graph->values[i]));
    if (of(f, value)->entries)
        return unsupported(taken(value), "is of edges");
    if (!of(f, value)->hears && !of(f, value)->local)
        return unsupported(taken(value), "makes an item out of all items");
    cut_shared(f);
    of(f, value)->cut = true;
    number(f);
    return give(out, f);
}

rgm_status rgm_cgraph_rounds(rgm_rounds *out, rgm_value *value, rgm_value *const *links,
                             int64_t link_count)
{
    finder f = {.links = links, .link_count = link_count};
    rgm_status status;

    *out = (rgm_rounds){.count = 0};
    if (value == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "rounds of no value");
    RGM_TRY(rgm_cgraph_status(value->graph));
    f.graph = value->graph;
    f.count = value->graph->count;
    status = find(out, &f, value);
    rgm_free(f.values);
    rgm_free(f.rows);
    if (status != RGM_OK)
        rgm_rounds_clear(out);
    return status;
}

/* ---- other inputs ---------------------------------------------------------------------------- */

typedef struct replacer {
    rgm_cgraph *graph;
    rgm_value **made, **in; /* made: [count] by id */
    bool *needed;
    int64_t count;
} replacer;

static void need(const replacer *r)
{
    for (int64_t i = r->count - 1; i >= 0; i--) {
        rgm_value *v = r->graph->values[i];

        if (!r->needed[i] || r->made[i] != NULL)
            continue;
        if (v->type == &rgmi_when_training_op)
            r->needed[taken(v)->id] = true;
        for (int k = 0; v->type != &rgmi_when_training_op && k < v->inputs; k++)
            r->needed[v->in[k]->id] = true;
    }
}

static void build(const replacer *r, rgm_value *v)
{
    bool changed = false;

    if (v->type == &rgmi_when_training_op) {
        r->made[v->id] = r->made[taken(v)->id];
        return;
    }
    for (int k = 0; k < v->inputs; k++) {
        r->in[k] = r->made[v->in[k]->id];
        changed = changed || r->in[k] != v->in[k];
    }
    r->made[v->id] = v;
    if (!changed)
        return;
    r->graph->scope = v->scope;
    r->made[v->id] = rgm_op(r->graph, v->type, r->in, v->inputs, &v->attributes);
}

static rgm_status replace(rgm_value **out, replacer *r, rgm_value *const *values, int64_t count,
                          rgm_value *const *from, rgm_value *const *to, int64_t replaced)
{
    const char *scope = r->graph->scope;
    int widest = 1;

    for (int64_t i = 0; i < r->count; i++)
        widest = r->graph->values[i]->inputs > widest ? r->graph->values[i]->inputs : widest;
    RGM_TRY(RGM_NEW(r->made, r->count));
    RGM_TRY(RGM_NEW(r->needed, r->count));
    RGM_TRY(RGM_NEW(r->in, widest));
    for (int64_t k = 0; k < replaced; k++)
        r->made[from[k]->id] = to[k];
    for (int64_t k = 0; k < count; k++)
        r->needed[values[k]->id] = true;
    need(r);
    for (int64_t i = 0; i < r->count; i++)
        if (r->needed[i] && r->made[i] == NULL)
            build(r, r->graph->values[i]);
    r->graph->scope = scope;
    RGM_TRY(rgm_cgraph_status(r->graph));
    for (int64_t k = 0; k < count; k++)
        out[k] = r->made[values[k]->id];
    return RGM_OK;
}

rgm_status rgm_cgraph_replace(rgm_value **out, rgm_value *const *values, int64_t count,
                              rgm_value *const *from, rgm_value *const *to, int64_t replaced)
{
    replacer r = {.graph = count > 0 && values[0] != NULL ? values[0]->graph : NULL};
    rgm_status status;

    for (int64_t k = 0; k < count; k++)
        if (values[k] == NULL || values[k]->graph != r.graph)
            return RGM_FAIL(RGM_ERR_ARG, "replace: value %lld is of no or another graph",
                            (long long)k);
    for (int64_t k = 0; k < replaced; k++)
        if (from[k] == NULL || to[k] == NULL || from[k]->graph != r.graph ||
            to[k]->graph != r.graph)
            return RGM_FAIL(RGM_ERR_ARG, "replace: value %lld to replace is of no or another graph",
                            (long long)k);
    if (count == 0)
        return RGM_OK;
    r.count = r.graph->count;
    status = replace(out, &r, values, count, from, to, replaced);
    rgm_free(r.made);
    rgm_free(r.needed);
    rgm_free(r.in);
    return status;
}
