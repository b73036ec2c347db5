/*
 * Values of a graph that lies with several processes. Each value is looked at, inputs first: of
 * what its rows are, and which of them are right here. Own items have all their entries here, so
 * what is gathered at them is right; what is gathered at copies is not, and is fetched where it is
 * read along a link. What depends on no link is right at copies as well, since these have their
 * features.
 */
#include "autodiff_internal.h"

typedef enum row_kind {
    FREE,    /* the same in all processes: parameters, constants */
    ITEMS,   /* a row an item                                    */
    ENTRIES, /* a row an entry of a link                         */
    OWN,     /* a row an entry of an item's own pattern          */
    ASKED,   /* of what seeds pick, and of what is fed with that */
    COUNT    /* how many items or entries there are here         */
} row_kind;

enum { TARGET, SOURCE, ENDS }; /* of a link: rows and columns of its pattern as it is fed */

typedef struct known {
    row_kind kind;
    bool needed;
    int64_t of;               /* ITEMS: which items; ENTRIES: which link */
    const rgm_value *pattern; /* OWN: whose entries                      */
    bool loops;               /* ENTRIES: those of loops stand behind    */
    bool stale;               /* ITEMS, OWN: rows of copies are wrong    */
    bool good[ENDS];          /* ENTRIES: those with an own item at that end are right */
    bool fetched;             /* ITEMS: fetched where it is read along a link          */
    rgm_value *made, *whole;  /* the value built again, and that fetched               */
} known;

/** A link as an op reads it. */
typedef struct way {
    int64_t link;
    int rows; /* the end at its rows */
    bool loops;
    int64_t row_items, column_items;
} way;

typedef struct parter {
    const rgm_parted_options *options;
    rgm_cgraph *graph;
    int64_t count; /* values at the start */
    known *values; /* [count]             */
    bool *rows;    /* of the op looked at */
    rgm_value **in;
    bool (*gathers)[ENDS]; /* [links] entries are gathered at that end */
    int64_t exchanges;
    uint64_t order;
} parter;

static known *of(const parter *p, const rgm_value *v)
{
    return &p->values[v->id];
}

static rgm_status refuse(const rgm_value *v, const char *what)
{
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s%s'%s' %s", v->scope != NULL ? v->scope : "",
                    v->scope != NULL ? ": " : "", v->type != NULL ? v->type->name : "a value",
                    what);
}

static int64_t items_of(const parter *p, rgm_dim dim)
{
    for (int64_t i = 0; i < p->options->item_count; i++)
        if (p->options->items[i].size == dim)
            return i;
    return -1;
}

/* Whether a size depends on how many items or entries are here. */
static bool is_of_items(const parter *p, rgm_dim dim)
{
    const rgmi_symbol *s;

    if (dim >= 0)
        return false;
    if (items_of(p, dim) >= 0)
        return true;
    for (int64_t i = 0; i < p->options->link_count; i++)
        if (p->options->links[i].pattern->s.shape[2] == dim)
            return true;
    s = &p->graph->symbols[-dim - 1];
    return s->kind != RGMI_FREE && (is_of_items(p, s->a) || is_of_items(p, s->b));
}

/* ---- patterns ------------------------------------------------------------------------------ */

/* The input that a pattern is made of; NULL: of no one input, as where entries were dropped. */
static const rgm_value *root_of(const rgm_value *p, bool *turned, bool *loops)
{
    *turned = *loops = false;
    for (; p->type != NULL; p = p->in[0])
        if (p->type == &rgmi_transpose_pattern_op)
            *turned = !*turned;
        else if (p->type == &rgmi_add_self_loops_op)
            *loops = true;
        else
            return NULL;
    return p;
}

static bool find_way(way *out, const parter *p, const rgm_value *pattern)
{
    bool turned, loops;
    const rgm_value *root = root_of(pattern, &turned, &loops);

    for (int64_t i = 0; i < p->options->link_count; i++)
        if (p->options->links[i].pattern == root) {
            *out = (way){.link = i,
                         .rows = turned ? SOURCE : TARGET,
                         .loops = loops,
                         .row_items = items_of(p, pattern->s.shape[0]),
                         .column_items = items_of(p, pattern->s.shape[1])};
            return out->row_items >= 0 && out->column_items >= 0;
        }
    return false;
}

static bool is_seed(const parter *p, const rgm_value *pattern)
{
    for (int64_t i = 0; i < p->options->seed_count; i++)
        if (p->options->seeds[i] == pattern)
            return true;
    return false;
}

/* Rows are items, columns numbers of a vocabulary. */
static bool is_own(const parter *p, const rgm_value *pattern)
{
    return pattern->type == NULL && items_of(p, pattern->s.shape[0]) >= 0 &&
           pattern->s.shape[1] >= 0;
}

/* ---- ops along links ------------------------------------------------------------------------- */

typedef enum hop_kind {
    NO_HOP,
    GATHERS, /* to items */
    SPREADS, /* to entries, from items */
    NORMS    /* entries over the rows */
} hop_kind;

/* What an input behind the pattern has a row of. */
typedef enum role { AT_ROWS, AT_COLUMNS, AT_ENTRIES, AT_NONE } role;

static const struct {
    const rgm_op_type *type;
    hop_kind kind;
    role roles[3];
} hops[] = {{&rgmi_degree_op, GATHERS, {AT_NONE}},
            {&rgmi_pool_rows_op, GATHERS, {AT_ENTRIES}},
            {&rgmi_broadcast_rows_op, SPREADS, {AT_ROWS}},
            {&rgmi_broadcast_columns_op, SPREADS, {AT_COLUMNS}},
            {&rgmi_gatv2_score_op, SPREADS, {AT_ROWS, AT_COLUMNS, AT_NONE}},
            {&rgmi_sddmm_op, SPREADS, {AT_ROWS, AT_COLUMNS}},
            {&rgmi_softmax_rows_op, NORMS, {AT_ENTRIES}}};

static role spmm_role(const rgm_value *v, int i)
{
    static const role optional[] = {AT_ENTRIES, AT_ROWS, AT_COLUMNS, AT_NONE, AT_NONE};
    int at = 2;

    if (i == 1)
        return AT_COLUMNS;
    for (int k = 0; k < 5; k++)
        if (v->attributes.integer[0] >> k & 1 && at++ == i)
            return optional[k];
    return AT_NONE;
}

static hop_kind hop_of(const rgm_value *v)
{
    if (v->type == &rgmi_spmm_op)
        return GATHERS;
    for (size_t i = 0; i < sizeof hops / sizeof *hops; i++)
        if (hops[i].type == v->type)
            return hops[i].kind;
    return NO_HOP;
}

static role role_of(const rgm_value *v, int i)
{
    if (v->type == &rgmi_spmm_op)
        return spmm_role(v, i);
    for (size_t k = 0; k < sizeof hops / sizeof *hops; k++)
        if (hops[k].type == v->type)
            return hops[k].roles[i - 1];
    return AT_NONE;
}

/* At which ends of a link entries are gathered: a state at rows must be right for those that end at
 * copies where they are gathered at the other end. */
static void note_gathers(const parter *p)
{
    for (int64_t i = 0; i < p->count; i++) {
        const rgm_value *v = p->graph->values[i];
        way w;

        if (!p->values[i].needed || v->inputs == 0 || hop_of(v) != GATHERS ||
            !find_way(&w, p, v->in[0]))
            continue;
        for (int k = 1; k < v->inputs; k++)
            if (role_of(v, k) == AT_ENTRIES)
                p->gathers[w.link][w.rows] = true;
    }
}

static bool is_fetched(const parter *p, const way *w, role at)
{
    return at == AT_COLUMNS || (at == AT_ROWS && p->gathers[w->link][!w->rows]);
}

static rgm_status look_at_entries(const parter *p, const rgm_value *v, const known *in,
                                  const way *w)
{
    (void)p;
    if (in->of != w->link || in->loops != w->loops)
        return refuse(v, "takes entries of one edge set along another");
    if (!in->good[w->rows])
        return refuse(v, "gathers at one end of the edges what was normalised at the other: its "
                         "edges lie with several ranks");
    return RGM_OK;
}

static rgm_status look_at_hop_input(const parter *p, const rgm_value *v, int i, const way *w,
                                    bool *rows_right)
{
    known *in = of(p, v->in[i]);
    role at = role_of(v, i);
    int64_t items = at == AT_ROWS ? w->row_items : w->column_items;

    if (in->kind == FREE)
        return RGM_OK;
    if (at == AT_ENTRIES && in->kind == ENTRIES)
        return look_at_entries(p, v, in, w);
    if ((at != AT_ROWS && at != AT_COLUMNS) || in->kind != ITEMS || in->of != items)
        return refuse(v, "reads along edges what is not of their nodes");
    if (!in->stale)
        return RGM_OK;
    if (is_fetched(p, w, at))
        in->fetched = true;
    else
        *rows_right = false;
    return RGM_OK;
}

static rgm_status look_at_hop(const parter *p, const rgm_value *v, const way *w)
{
    known *k = of(p, v);
    hop_kind kind = hop_of(v);
    bool rows_right = true;

    if (kind == NO_HOP)
        return refuse(v, "works along edges in a way that cannot be split over ranks");
    for (int i = 1; i < v->inputs; i++)
        RGM_TRY(look_at_hop_input(p, v, i, w, &rows_right));
    if (kind == GATHERS) {
        k->kind = ITEMS;
        k->of = w->row_items;
        k->stale = true;
        return RGM_OK;
    }
    k->kind = ENTRIES;
    k->of = w->link;
    k->loops = w->loops;
    k->good[w->rows] = true;
    k->good[!w->rows] = kind == SPREADS && rows_right;
    return RGM_OK;
}

/* ---- ops along other patterns ------------------------------------------------------------------
 */

/* Features of items as sparse rows: each item's own. */
static rgm_status look_at_own(const parter *p, const rgm_value *v)
{
    known *k = of(p, v);
    int64_t items = items_of(p, v->in[0]->s.shape[0]);
    bool entries = v->s.shape[0] == v->in[0]->s.shape[2];

    for (int i = 1; i < v->inputs; i++) {
        const known *in = of(p, v->in[i]);

        if (in->kind != FREE && !(in->kind == ITEMS && in->of == items) &&
            !(in->kind == OWN && in->pattern == v->in[0]))
            return refuse(v, "reads along features what is not of their nodes");
        k->stale = k->stale || in->stale;
    }
    if (hop_of(v) == NO_HOP)
        return refuse(v, "works along features in a way that cannot be split over ranks");
    k->kind = entries ? OWN : ITEMS;
    k->of = items;
    k->pattern = entries ? v->in[0] : NULL;
    return RGM_OK;
}

/* What one process asks about is among its own items. */
static rgm_status look_at_seed(const parter *p, const rgm_value *v)
{
    hop_kind kind = hop_of(v);

    for (int i = 1; i < v->inputs; i++) {
        const known *in = of(p, v->in[i]);
        bool columns = kind != NO_HOP && role_of(v, i) == AT_COLUMNS && in->kind == ITEMS;

        if (!columns && in->kind != FREE && in->kind != ASKED)
            return refuse(v, "reads nodes in another way than by those that are asked about");
    }
    of(p, v)->kind = ASKED;
    return RGM_OK;
}

/* ---- all ops --------------------------------------------------------------------------------- */

static void look_at_leaf(const parter *p, const rgm_value *v)
{
    known *k = of(p, v);
    int64_t items;

    if (v->leaf != RGMI_INPUT || v->s.is_pattern)
        return;
    items = v->s.rank > 0 ? items_of(p, v->s.shape[0]) : -1;
    k->kind = items >= 0 ? ITEMS : ASKED;
    k->of = items;
    for (int64_t i = 0; v->s.rank > 0 && i < p->options->link_count; i++)
        if (p->options->links[i].pattern->s.shape[2] == v->s.shape[0])
            *k = (known){.kind = ENTRIES, .needed = true, .of = i, .good = {true, true}};
}

static bool is_alike(const known *a, const known *b)
{
    return a->kind == b->kind && a->of == b->of && a->pattern == b->pattern && a->loops == b->loops;
}

/* What v has of one of its inputs. */
static rgm_status join(known *k, const rgm_value *v, const known *in, bool first)
{
    bool needed = k->needed;

    if (first) {
        *k = *in;
        k->needed = needed;
        k->fetched = false;
        return RGM_OK;
    }
    if (!is_alike(k, in))
        return refuse(v, "joins rows of different things: it cannot be split over ranks");
    k->stale = k->stale || in->stale;
    for (int e = 0; e < ENDS; e++)
        k->good[e] = k->good[e] && in->good[e];
    return RGM_OK;
}

/* Weights of edges with those of loops behind. */
static bool adds_loops(const parter *p, const rgm_value *v)
{
    return v->type == &rgmi_concat_op && v->attributes.integer[0] == 0 && v->inputs == 2 &&
           of(p, v->in[0])->kind == ENTRIES && !of(p, v->in[0])->loops &&
           of(p, v->in[1])->kind == ITEMS;
}

static bool draws(const rgm_value *v)
{
    return v->type == &rgmi_dropout_op || v->type == &rgmi_item_dropout_op;
}

/* Row by row. */
static rgm_status look_at_rows(const parter *p, const rgm_value *v)
{
    known *k = of(p, v);
    bool known_rows = v->type == &rgmi_when_training_op, first = true;

    if (v->type->random && !draws(v))
        return refuse(v, "draws by the place of a node: its draws would differ between ranks");
    if (adds_loops(p, v)) {
        *k = *of(p, v->in[0]);
        k->loops = true;
        return RGM_OK;
    }
    for (int i = 0; i < v->inputs; i++)
        p->rows[i] = known_rows;
    if (!known_rows)
        RGM_TRY(rgmi_row_needs(&known_rows, p->rows, v));
    for (int i = 0; i < v->inputs; i++) {
        const known *in = of(p, v->in[i]);

        if (in->kind == FREE)
            continue;
        if (!known_rows || !p->rows[i])
            return refuse(v, "makes one thing of all nodes or edges, of which each rank has some");
        RGM_TRY(join(k, v, in, first));
        first = false;
    }
    return RGM_OK;
}

static bool keeps_rows(const rgm_value *v)
{
    return v->type->elementwise || v->type == &rgmi_reshape_op ||
           v->type == &rgmi_broadcast_to_op || v->type == &rgmi_when_training_op;
}

/* A constant with a row for each item is as good as one row; a sum over its rows is a count. */
static rgm_status look_at_free(const parter *p, const rgm_value *v)
{
    bool known_rows = false;

    for (int a = 0; v->type->random && a < v->s.rank; a++)
        if (v->s.shape[a] < 0)
            return refuse(v, "draws for each row of a constant: its draws would differ between "
                             "ranks");
    if (keeps_rows(v))
        return RGM_OK;
    RGM_TRY(rgmi_row_needs(&known_rows, p->rows, v));
    for (int i = 0; i < v->inputs; i++)
        for (int a = 0; a < v->in[i]->s.rank; a++)
            if (is_of_items(p, v->in[i]->s.shape[a]) && (a > 0 || !known_rows || !p->rows[i]))
                of(p, v)->kind = COUNT;
    return RGM_OK;
}

/* Each process asks about some: a loss is a mean over them, and nothing else is of all. */
static rgm_status look_at_asked(const rgm_value *v)
{
    if (v->type->random)
        return refuse(v, "draws by the place among the nodes that are asked about: its draws would "
                         "differ between ranks");
    if (v->type == &rgmi_batch_moments_op)
        return refuse(v, "makes one thing of all nodes that are asked about, of which each rank "
                         "has some");
    return RGM_OK;
}

static rgm_status look_at(const parter *p, const rgm_value *v)
{
    known *k = of(p, v);
    bool free = true, asked = true;
    way w;

    k->of = -1;
    if (v->type == NULL) {
        look_at_leaf(p, v);
        return RGM_OK;
    }
    if (v->s.is_pattern)
        return RGM_OK;
    if (v->type == &rgmi_inverse_dim_op || v->type == &rgmi_by_rows_op) {
        k->kind = is_of_items(p, v->attributes.integer[0]) ? COUNT
                  : v->attributes.integer[0] < 0           ? ASKED
                                                           : FREE;
        return RGM_OK;
    }
    if (v->inputs > 0 && v->in[0]->s.is_pattern) {
        if (find_way(&w, p, v->in[0]))
            return look_at_hop(p, v, &w);
        if (is_seed(p, v->in[0]))
            return look_at_seed(p, v);
        if (is_own(p, v->in[0]))
            return look_at_own(p, v);
        return refuse(v, "reads nodes along something that lies with several ranks as a whole");
    }
    for (int i = 0; i < v->inputs; i++) {
        row_kind in = of(p, v->in[i])->kind;

        if (v->in[i]->s.is_pattern)
            return refuse(v, "takes a pattern in a way that cannot be split over ranks");
        if (in == COUNT)
            return refuse(v, "counts all nodes or edges, of which each rank has some");
        free = free && in == FREE;
        asked = asked && (in == FREE || in == ASKED);
    }
    k->kind = free ? FREE : ASKED;
    if (free)
        return look_at_free(p, v);
    return asked ? look_at_asked(v) : look_at_rows(p, v);
}

/* ---- building -------------------------------------------------------------------------------- */

/* Which of the whole graph's entries or items the rows of a value are, those of loops behind. */
static rgm_status numbers_of(rgm_tensor **out, const parter *p, const rgm_value *v)
{
    const rgm_parted_options *o = p->options;
    const known *k = of(p, v);
    rgm_tensor *entries = NULL, *items = NULL;
    rgm_status status = RGM_OK;
    int64_t count, total, rows;

    *out = NULL;
    if (k->kind != ENTRIES || !k->loops)
        return o->numbers(out,
                          k->kind == OWN       ? k->pattern
                          : k->kind == ENTRIES ? o->links[k->of].pattern
                                               : NULL,
                          k->of, o->payload);
    RGM_GO(o->numbers(&entries, o->links[k->of].pattern, k->of, o->payload));
    RGM_GO(o->numbers(&items, NULL, items_of(p, o->links[k->of].pattern->s.shape[0]), o->payload));
    count = rgm_tensor_count(entries);
    rows = count + rgm_tensor_count(items);
    total = o->links[k->of].total;
    RGM_GO(rgm_tensor_create(out, RGM_I64, 1, &rows));
    for (int64_t i = 0; i < rows; i++)
        rgm_tensor_i64(*out)[i] =
            i < count ? rgm_tensor_i64(entries)[i] : total + rgm_tensor_i64(items)[i - count];
done:
    rgm_tensor_release(entries);
    rgm_tensor_release(items);
    return status;
}

static rgm_status build_dropout(rgm_value **out, const parter *p, const rgm_value *v)
{
    rgm_tensor *numbers;

    RGM_TRY(numbers_of(&numbers, p, v));
    *out =
        rgmi_numbered_dropout(p->in[0], &v->attributes, v->type == &rgmi_item_dropout_op, numbers);
    rgm_tensor_release(numbers);
    return RGM_OK;
}

/* The input as the op reads it. */
static rgm_value *input_of(parter *p, const rgm_value *v, int i)
{
    known *in = of(p, v->in[i]);
    uint64_t both[4] = {p->order, (uint64_t)in->of, v->s.dtype, (uint64_t)v->in[i]->s.rank};
    way w;

    if (!in->fetched || i == 0 || !v->in[0]->s.is_pattern || !find_way(&w, p, v->in[0]) ||
        !is_fetched(p, &w, role_of(v, i)))
        return in->made;
    if (in->whole != NULL)
        return in->whole;
    in->whole = rgmi_exchange_rows(in->made, p->options->items[in->of].exchange);
    p->exchanges++;
    if (v->in[i]->s.rank > 1)
        both[3] += (uint64_t)v->in[i]->s.shape[1] << 8;
    p->order = rgm_hash64(both, sizeof both);
    return in->whole;
}

static rgm_status build(parter *p, rgm_value *v)
{
    known *k = of(p, v);
    bool changed = false, drawn = draws(v) && k->kind != FREE;

    for (int i = 0; i < v->inputs; i++) {
        p->in[i] = input_of(p, v, i);
        changed = changed || p->in[i] != v->in[i];
    }
    k->made = v;
    if (!changed && !drawn)
        return RGM_OK;
    p->graph->scope = v->scope;
    if (drawn)
        RGM_TRY(build_dropout(&k->made, p, v));
    else
        k->made = rgm_op(p->graph, v->type, p->in, v->inputs, &v->attributes);
    if (k->made != NULL)
        k->made->name = v->name;
    return rgm_cgraph_status(p->graph);
}

static rgm_status look_and_build(parter *p, rgm_value **parted, rgm_value *const *values,
                                 int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        of(p, values[i])->needed = true;
    for (int64_t i = p->count - 1; i >= 0; i--)
        for (int k = 0; p->values[i].needed && k < p->graph->values[i]->inputs; k++)
            of(p, p->graph->values[i]->in[k])->needed = true;
    note_gathers(p);
    for (int64_t i = 0; i < p->count; i++)
        if (p->values[i].needed)
            RGM_TRY(look_at(p, p->graph->values[i]));
    for (int64_t i = 0; i < count; i++)
        if (of(p, values[i])->kind != FREE && of(p, values[i])->kind != ASKED)
            return refuse(values[i], "is of all nodes or edges, of which each rank has some; ask "
                                     "about nodes of a split");
    for (int64_t i = 0; i < p->count; i++)
        if (p->values[i].needed)
            RGM_TRY(build(p, p->graph->values[i]));
    for (int64_t i = 0; i < count; i++)
        parted[i] = of(p, values[i])->made;
    return RGM_OK;
}

rgm_status rgm_cgraph_part(rgm_value **parted, int64_t *exchanges, uint64_t *order,
                           rgm_value *const *values, int64_t count,
                           const rgm_parted_options *options)
{
    rgm_status status = RGM_OK;
    parter p = {.options = options};
    const char *scope;
    int widest = 1;

    for (int64_t i = 0; i < count; i++)
        if (values[i] == NULL || values[i]->graph != values[0]->graph)
            return RGM_FAIL(RGM_ERR_ARG, "part: value %lld is of no or another graph",
                            (long long)i);
    if (count == 0)
        return RGM_OK;
    p.graph = values[0]->graph;
    p.count = p.graph->count;
    scope = p.graph->scope;
    RGM_TRY(rgm_cgraph_status(p.graph));
    for (int64_t i = 0; i < p.count; i++)
        widest = p.graph->values[i]->inputs > widest ? p.graph->values[i]->inputs : widest;
    RGM_GO(RGM_NEW(p.values, p.count));
    RGM_GO(RGM_NEW(p.rows, widest));
    RGM_GO(RGM_NEW(p.in, widest));
    RGM_GO(RGM_NEW(p.gathers, options->link_count));
    RGM_GO(look_and_build(&p, parted, values, count));
    if (exchanges != NULL)
        *exchanges = p.exchanges;
    if (order != NULL)
        *order = p.order;
done:
    p.graph->scope = scope;
    rgm_free(p.values);
    rgm_free(p.rows);
    rgm_free(p.in);
    rgm_free(p.gathers);
    return status;
}
