/*
 * Values computed from no more items than they need. What some values read through seed patterns is
 * needed of the items that the seeds pick (level 0); what an op sums or spreads along a link is
 * needed one link farther away (level 1, 2, ...); what an op does row by row is needed where its
 * result is. An op of which none of this is known needs everything, and so does all that it reads.
 * First every value is asked for the most that any reader needs of it, readers first; then the ops
 * are built again, inputs first, over fewer rows. Items of a level stand before those of the next,
 * so what one reader needs of a value is the beginning of what another does: a view.
 */
#include "autodiff_internal.h"
#include <stdio.h>

#define MOST_LEVELS 30 /* what is farther away counts as everything */

/** What is asked of a value, or what an op asks of an input. */
typedef enum part_kind {
    NOTHING,
    PART, /* rows of items, or of the entries of a way, up to a level */
    WHOLE,
    NEAR, /* inputs that are links: entries that end at items up to a level */
    SEEDS /* inputs that are seeds: picked out of the items of level 0      */
} part_kind;

typedef struct part {
    part_kind kind;
    int way; /* of entries: along which way they lead; -1: items */
    int level;
} part;

/** A link in one of its directions, with or without loops: rows hear columns. */
typedef struct way {
    rgm_value *link;
    bool transposed, loops;
    bool heard; /* something travels along it, so that its columns are one level farther away */
} way;

/** A value narrowed for some of its readers. */
typedef struct cut {
    rgm_value *from, *to;
    part part;
} cut;

typedef struct narrower {
    rgm_cgraph *graph;
    const rgm_narrow_options *options;
    int64_t count;    /* values of the graph at the start */
    part *asked;      /* [count] */
    rgm_value **made; /* [count] */
    part *wants;      /* of each input of the op looked at */
    rgm_value **in;
    way *ways;
    int64_t way_count, way_capacity;
    cut *cuts;
    int64_t cut_count, cut_capacity;
    int top; /* levels from here on are everything */
    rgm_narrow_part *parts;
    int64_t part_count, part_capacity;
    rgm_status status;
} narrower;

/* ---- patterns and dims ---- */

/* The way that a pattern value stands for, -1 when it is made of no link. */
static int find_way(narrower *n, const rgm_value *p)
{
    way found = {.link = NULL};

    for (; p->type != NULL; p = p->in[0]) {
        if (p->type == &rgmi_transpose_pattern_op)
            found.transposed = !found.transposed;
        else if (p->type == &rgmi_add_self_loops_op && !found.loops)
            found.loops = true;
        else
            return -1;
    }
    for (int64_t i = 0; i < n->options->link_count; i++)
        if (n->options->links[i] == p)
            found.link = n->options->links[i];
    if (found.link == NULL)
        return -1;
    for (int64_t i = 0; i < n->way_count; i++)
        if (n->ways[i].link == p && n->ways[i].transposed == found.transposed &&
            n->ways[i].loops == found.loops)
            return (int)i;
    if (n->status == RGM_OK)
        n->status = RGM_RESERVE(n->ways, n->way_capacity, n->way_count + 1);
    if (n->status != RGM_OK)
        return -1;
    n->ways[n->way_count] = found;
    return (int)n->way_count++;
}

/* The same way with loops. */
static int with_loops(narrower *n, int w)
{
    rgm_value p = {.type = &rgmi_add_self_loops_op}, t = {.type = &rgmi_transpose_pattern_op};
    rgm_value *link = n->ways[w].link, *turned = &t;

    t.in = &link;
    p.in = n->ways[w].transposed ? &turned : &link;
    return find_way(n, &p);
}

static bool is_heard(const narrower *n, int w)
{
    for (int64_t i = 0; i < n->way_count; i++)
        if (n->ways[i].heard && n->ways[i].link == n->ways[w].link &&
            n->ways[i].transposed == n->ways[w].transposed)
            return true;
    return false;
}

static rgm_dim rows_of(const way *w)
{
    return w->link->s.shape[w->transposed ? 1 : 0];
}

static rgm_dim columns_of(const way *w)
{
    return w->link->s.shape[w->transposed ? 0 : 1];
}

static bool is_seed(const narrower *n, const rgm_value *p)
{
    bool seed = false, items = false;

    for (int64_t i = 0; i < n->options->seed_count; i++)
        seed = seed || n->options->seeds[i] == p;
    for (int64_t i = 0; seed && i < n->options->link_count; i++)
        items = items || n->options->links[i]->s.shape[0] == p->s.shape[1] ||
                n->options->links[i]->s.shape[1] == p->s.shape[1];
    return items && rgm_cgraph_symbol_name(p->graph, p->s.shape[1]) != NULL;
}

/* ---- what ops need of their inputs ---- */

/* Inputs marked in `rows` have a row for each row of the result, and row i makes row i. */
static bool row_by_row(narrower *n, const rgm_value *v, part asked, unsigned rows)
{
    for (int i = 0; i < v->inputs; i++) {
        if (i < 32 && !(rows >> i & 1))
            continue;
        if (v->in[i]->s.is_pattern || v->in[i]->s.rank < 1 || v->in[i]->s.shape[0] != v->s.shape[0])
            return false;
        n->wants[i] = asked;
    }
    return true;
}

static bool elementwise(narrower *n, const rgm_value *v, part asked)
{
    for (int i = 0; i < v->inputs; i++)
        if (v->in[i]->s.rank == v->s.rank && v->in[i]->s.shape[0] == v->s.shape[0])
            n->wants[i] = asked;
    return true;
}

/* Over an axis that is not the first, kept in integer[0]. */
static bool inner_axis(narrower *n, const rgm_value *v, part asked)
{
    return v->attributes.integer[0] > 0 && row_by_row(n, v, asked, ~0U);
}

static bool last_axis(narrower *n, const rgm_value *v, part asked)
{
    return v->in[0]->s.rank >= 2 && row_by_row(n, v, asked, 1);
}

static bool all_rows(narrower *n, const rgm_value *v, part asked)
{
    return row_by_row(n, v, asked, ~0U);
}

static bool gathered(narrower *n, const rgm_value *v, part asked)
{
    return row_by_row(n, v, asked, 2);
}

static bool product(narrower *n, const rgm_value *v, part asked)
{
    return v->s.rank == 2 && v->in[0]->s.rank == 2 && v->attributes.integer[0] == 0 &&
           row_by_row(n, v, asked, 1);
}

/* Rows stay rows: the first axis is kept, and no other has a size that varies. */
static bool reshaped(narrower *n, const rgm_value *v, part asked)
{
    for (int i = 1; i < v->s.rank; i++)
        if (v->s.shape[i] < 0)
            return false;
    return row_by_row(n, v, asked, 1);
}

static bool broadcast(narrower *n, const rgm_value *v, part asked)
{
    for (int i = 1; i < v->s.rank; i++)
        if (v->s.shape[i] < 0)
            return false;
    return elementwise(n, v, asked);
}

/* Values of entries to their receivers. */
static bool pooled(narrower *n, const rgm_value *v, part asked)
{
    int w = find_way(n, v->in[0]);

    if (w < 0 || asked.way >= 0)
        return false;
    n->ways[w].heard = true;
    n->wants[0] = (part){NEAR, w, asked.level};
    n->wants[1] = (part){PART, w, asked.level};
    return true;
}

static bool counted(narrower *n, const rgm_value *v, part asked)
{
    int w = find_way(n, v->in[0]);

    n->wants[0] = (part){NEAR, w, asked.level};
    return w >= 0 && asked.way < 0;
}

static bool summed(narrower *n, const rgm_value *v, part asked)
{
    int w = find_way(n, v->in[0]), at = 2;
    part farther = {PART, -1, asked.level + 1};
    int64_t flags = v->attributes.integer[0];
    bool loop = v->attributes.integer[1] != 0;

    if (w < 0 || asked.way >= 0 || (loop && n->ways[w].loops))
        return false;
    if (loop) /* of a row that stands elsewhere among the columns */
        w = with_loops(n, w);
    if (w < 0)
        return false;
    n->ways[w].heard = true;
    n->wants[0] = (part){NEAR, w, asked.level};
    n->wants[1] = farther;
    if (flags & RGMI_SPMM_WEIGHT)
        n->wants[at++] = (part){PART, w, asked.level};
    if (flags & RGMI_SPMM_ROW)
        n->wants[at++] = asked;
    if (flags & RGMI_SPMM_COLUMN)
        n->wants[at++] = farther;
    return true;
}

/* Whether p has the entries that are asked for; *turned: seen from the other end. */
static bool same_entries(bool *turned, narrower *n, const rgm_value *p, part asked)
{
    int w = find_way(n, p);

    if (w < 0 || asked.way < 0 || n->ways[w].link != n->ways[asked.way].link ||
        n->ways[w].loops != n->ways[asked.way].loops)
        return false;
    *turned = n->ways[w].transposed != n->ways[asked.way].transposed;
    n->ways[asked.way].heard = true;
    n->wants[0] = (part){NEAR, asked.way, asked.level};
    return true;
}

static bool spread_rows(narrower *n, const rgm_value *v, part asked)
{
    bool turned;

    if (!same_entries(&turned, n, v->in[0], asked))
        return false;
    n->wants[1] = (part){PART, -1, asked.level + (turned ? 1 : 0)};
    return true;
}

static bool spread_columns(narrower *n, const rgm_value *v, part asked)
{
    bool turned;

    if (!same_entries(&turned, n, v->in[0], asked))
        return false;
    n->wants[1] = (part){PART, -1, asked.level + (turned ? 0 : 1)};
    return true;
}

static bool softmax_of_rows(narrower *n, const rgm_value *v, part asked)
{
    bool turned;

    if (!same_entries(&turned, n, v->in[0], asked) || turned)
        return false;
    n->wants[1] = asked;
    return true;
}

/* From rows in[1] and columns in[2] to entries. */
static bool of_both_ends(narrower *n, const rgm_value *v, part asked)
{
    bool turned;

    if (!same_entries(&turned, n, v->in[0], asked))
        return false;
    n->wants[1] = (part){PART, -1, asked.level + (turned ? 1 : 0)};
    n->wants[2] = (part){PART, -1, asked.level + (turned ? 0 : 1)};
    return true;
}

/* What is not here is taken whole, and so are the ops of users. */
static const struct {
    const rgm_op_type *type;
    bool (*needs)(narrower *n, const rgm_value *v, part asked);
} rules[] = {
    {&rgmi_matmul_op, product},
    {&rgmi_cast_op, all_rows},
    {&rgmi_stop_gradient_op, all_rows},
    {&rgmi_when_training_op, all_rows},
    {&rgmi_dropout_op, all_rows},
    {&rgmi_item_dropout_op, all_rows},
    {&rgmi_reshape_op, reshaped},
    {&rgmi_broadcast_to_op, broadcast},
    {&rgmi_concat_op, inner_axis},
    {&rgmi_slice_op, inner_axis},
    {&rgmi_reduce_op, inner_axis},
    {&rgmi_argmax_op, last_axis},
    {&rgmi_softmax_op, last_axis},
    {&rgmi_log_softmax_op, last_axis},
    {&rgmi_layer_norm_op, last_axis},
    {&rgmi_l2_normalize_op, last_axis},
    {&rgmi_gather_op, gathered},
    {&rgmi_degree_op, counted},
    {&rgmi_pool_rows_op, pooled},
    {&rgmi_spmm_op, summed},
    {&rgmi_broadcast_rows_op, spread_rows},
    {&rgmi_broadcast_columns_op, spread_columns},
    {&rgmi_softmax_rows_op, softmax_of_rows},
    {&rgmi_gatv2_score_op, of_both_ends},
    {&rgmi_sddmm_op, of_both_ends},
};

static void want_whole(narrower *n, const rgm_value *v)
{
    for (int i = 0; i < v->inputs; i++)
        n->wants[i] = (part){WHOLE, -1, 0};
}

/* Fills n->wants for v of which `asked` is needed; false: it is needed whole. */
static bool part_needs(narrower *n, const rgm_value *v, part asked)
{
    want_whole(n, v);
    if (asked.level > MOST_LEVELS)
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].type == v->type)
            return rules[i].needs(n, v, asked);
    return v->type->elementwise && elementwise(n, v, asked);
}

static void whole_needs(narrower *n, const rgm_value *v)
{
    want_whole(n, v);
    if ((v->type == &rgmi_broadcast_columns_op || v->type == &rgmi_pool_rows_op) &&
        is_seed(n, v->in[0])) {
        n->wants[0] = (part){SEEDS, -1, 0};
        if (v->type == &rgmi_broadcast_columns_op)
            n->wants[1] = (part){PART, -1, 0};
    }
}

rgm_status rgmi_row_needs(bool *known, bool *rows, const rgm_value *v)
{
    const rgm_narrow_options none = {.link_count = 0};
    narrower n = {.graph = v->graph, .options = &none};

    *known = false;
    RGM_TRY(RGM_NEW(n.wants, v->inputs));
    *known = part_needs(&n, v, (part){PART, -1, 0});
    for (int i = 0; i < v->inputs; i++)
        rows[i] = *known && n.wants[i].kind == PART;
    rgm_free(n.wants);
    return RGM_OK;
}

/* ---- asking, readers first ---- */

static void ask(narrower *n, const rgm_value *v, part want)
{
    part *asked = &n->asked[v->id];

    if (asked->kind == NOTHING)
        *asked = want;
    else if (asked->kind == PART && want.kind == PART && want.way == asked->way)
        asked->level = want.level > asked->level ? want.level : asked->level;
    else
        *asked = (part){WHOLE, -1, 0};
}

static void ask_inputs(narrower *n, const rgm_value *v)
{
    part *asked = &n->asked[v->id];

    if (asked->kind == NOTHING || v->type == NULL)
        return;
    if (asked->kind == PART && !part_needs(n, v, *asked))
        *asked = (part){WHOLE, -1, 0};
    if (asked->kind == WHOLE)
        whole_needs(n, v);
    for (int i = 0; i < v->inputs; i++)
        ask(n, v->in[i], n->wants[i].kind == PART ? n->wants[i] : (part){WHOLE, -1, 0});
}

/* What there is of v in the end: inputs are fed whole, the farthest level is everything, and a
 * count of entries that nothing travels along would take more of them than anything else needs. */
static part have(narrower *n, const rgm_value *v)
{
    part asked = n->asked[v->id];

    if (asked.kind == PART && (v->type == NULL || asked.level >= n->top ||
                               (v->type == &rgmi_degree_op && !is_heard(n, find_way(n, v->in[0])))))
        return (part){WHOLE, -1, 0};
    return asked;
}

/* ---- building, inputs first ---- */

/* "edges/cites.#near1@source+loops": what is fed, or the symbol of its size. */
static const char *way_name(char *name, size_t size, const way *w, const char *what, int level)
{
    snprintf(name, size, "%s.#%s%d%s%s", w->link->name, what, level, w->transposed ? "@source" : "",
             w->loops ? "+loops" : "");
    return name;
}

#define NAME 512

/* How many items, or entries, there are up to a level. */
static rgm_dim part_size(narrower *n, rgm_dim items, part p)
{
    char name[NAME];

    if (p.level >= n->top)
        return items;
    if (p.way >= 0)
        way_name(name, sizeof name, &n->ways[p.way], "entries", p.level);
    else
        snprintf(name, sizeof name, "%s.#items%d", rgm_cgraph_symbol_name(n->graph, items),
                 p.level);
    return rgm_cgraph_symbol(n->graph, name);
}

/* A pattern that is to be fed, once. */
static rgm_value *fed(narrower *n, const char *name, rgm_dim rows, rgm_dim columns, rgm_dim count,
                      rgm_narrow_part p)
{
    rgm_value *input = rgm_input_pattern(n->graph, name, rows, columns, count);

    for (int64_t i = 0; i < n->part_count; i++)
        if (n->parts[i].input == input)
            return input;
    if (n->status == RGM_OK)
        n->status = RGM_RESERVE(n->parts, n->part_capacity, n->part_count + 1);
    if (n->status != RGM_OK || input == NULL)
        return NULL;
    p.input = input;
    n->parts[n->part_count++] = p;
    return input;
}

static rgm_value *near_links(narrower *n, rgm_value *p, part want)
{
    const way *w = &n->ways[want.way];
    rgm_narrow_part fed_with = {.kind = RGM_NARROW_LINKS,
                                .pattern = w->link,
                                .transposed = w->transposed,
                                .loops = w->loops,
                                .level = want.level,
                                .whole_columns = want.level + 1 >= n->top};
    rgm_dim rows, columns, count;
    rgm_value *input;
    char name[NAME];

    if (want.level >= n->top)
        return p;
    rows = part_size(n, rows_of(w), (part){PART, -1, want.level});
    columns = part_size(n, columns_of(w), (part){PART, -1, want.level + 1});
    count = part_size(n, 0, want);
    way_name(name, sizeof name, w, "near", want.level);
    input = fed(n, name, rows, columns, count, fed_with);
    return n->ways[find_way(n, p)].transposed == w->transposed ? input
                                                               : rgm_transpose_pattern(input);
}

static rgm_value *near_seeds(narrower *n, const rgm_value *p)
{
    const rgm_dim *shape = p->s.shape;
    char name[NAME];

    if (n->top == 0)
        return (rgm_value *)p;
    snprintf(name, sizeof name, "%s.#near", p->name);
    return fed(n, name, shape[0], part_size(n, shape[1], (part){PART, -1, 0}), shape[2],
               (rgm_narrow_part){.kind = RGM_NARROW_SEEDS, .pattern = (rgm_value *)p});
}

/* Picks rows out of all items or entries. */
static rgm_value *picked(narrower *n, rgm_value *x, part want)
{
    rgm_dim all = x->s.shape[0], size = part_size(n, all, want);
    rgm_narrow_part p = {.kind = RGM_NARROW_ITEMS, .items = all, .level = want.level};
    char name[NAME];

    if (want.way >= 0) {
        const way *w = &n->ways[want.way];

        p = (rgm_narrow_part){.kind = RGM_NARROW_ENTRIES,
                              .pattern = w->link,
                              .transposed = w->transposed,
                              .loops = w->loops,
                              .level = want.level};
        way_name(name, sizeof name, w, "pick", want.level);
    } else {
        snprintf(name, sizeof name, "%s.#pick%d", rgm_cgraph_symbol_name(n->graph, all),
                 want.level);
    }
    rgm_value *pattern = fed(n, name, size, all, size, p);

    if (pattern != NULL)
        pattern->picks = true;
    return rgm_broadcast_columns(pattern, x);
}

/* What was made of x, narrowed to what a reader wants. */
static rgm_value *read(narrower *n, rgm_value *x, part want)
{
    part there = have(n, x);
    int most = there.kind == PART ? there.level : n->top;
    rgm_value *y = n->made[x->id];

    if (y == NULL || want.kind != PART || want.level >= most)
        return y;
    for (int64_t i = 0; i < n->cut_count; i++)
        if (n->cuts[i].from == x && n->cuts[i].part.way == want.way &&
            n->cuts[i].part.level == want.level)
            return n->cuts[i].to;
    y = there.kind == PART ? rgmi_slice_dim(y, 0, 0, part_size(n, x->s.shape[0], want))
                           : picked(n, y, want);
    if (n->status == RGM_OK)
        n->status = RGM_RESERVE(n->cuts, n->cut_capacity, n->cut_count + 1);
    if (n->status == RGM_OK)
        n->cuts[n->cut_count++] = (cut){x, y, want};
    return y;
}

static rgm_value *build(narrower *n, rgm_value *v)
{
    part there = have(n, v);
    rgm_attributes attributes = v->attributes;
    bool changed = there.kind == PART;
    rgm_value *y;

    if (v->type == NULL)
        return v;
    if (there.kind == PART)
        part_needs(n, v, there);
    else
        whole_needs(n, v);
    n->graph->scope = v->scope;
    for (int i = 0; i < v->inputs; i++) {
        part want = n->wants[i];

        n->in[i] = want.kind == NEAR    ? near_links(n, v->in[i], want)
                   : want.kind == SEEDS ? near_seeds(n, v->in[i])
                                        : read(n, v->in[i], want);
        /* seeds change where what they pick from does */
        changed = changed ||
                  (n->in[i] != v->in[i] && !(want.kind == SEEDS && v->type == &rgmi_pool_rows_op));
    }
    if (!changed)
        return v;
    if (there.kind == PART && (v->type == &rgmi_reshape_op || v->type == &rgmi_broadcast_to_op))
        for (int i = 0; i < v->s.rank; i++)
            attributes.integer[i] = i > 0 ? v->s.shape[i] : part_size(n, v->s.shape[0], there);
    if (v->type == &rgmi_spmm_op && n->wants[0].kind == NEAR)
        attributes.integer[1] = false; /* its loops are entries now */
    y = rgm_op(n->graph, v->type, n->in, v->inputs, &attributes);
    if (y != NULL)
        y->name = v->name;
    return y;
}

/* ---- all of it ---- */

static rgm_status narrower_init(narrower *n, rgm_cgraph *graph, const rgm_narrow_options *options)
{
    int widest = 1;

    *n = (narrower){.graph = graph, .options = options, .count = graph->count};
    for (int64_t i = 0; i < graph->count; i++)
        widest = graph->values[i]->inputs > widest ? graph->values[i]->inputs : widest;
    RGM_TRY(RGM_NEW(n->asked, n->count));
    RGM_TRY(RGM_NEW(n->made, n->count));
    RGM_TRY(RGM_NEW(n->wants, widest));
    return RGM_NEW(n->in, widest);
}

static void narrower_clear(narrower *n)
{
    rgm_free(n->asked);
    rgm_free(n->made);
    rgm_free(n->wants);
    rgm_free(n->in);
    rgm_free(n->ways);
    rgm_free(n->cuts);
    rgm_free(n->parts);
}

static rgm_status narrow(narrower *n, rgm_value **narrowed, rgm_value *const *values, int64_t count)
{
    const char *scope = n->graph->scope;

    for (int64_t i = 0; i < count; i++)
        ask(n, values[i], (part){WHOLE, -1, 0});
    for (int64_t i = n->count - 1; i >= 0; i--)
        ask_inputs(n, n->graph->values[i]);
    RGM_TRY(n->status);
    for (int64_t i = 0; i < n->count; i++)
        if (n->asked[i].kind == PART && n->asked[i].level > n->top)
            n->top = n->asked[i].level;
    for (int64_t i = 0; i < n->count && n->status == RGM_OK; i++)
        if (n->asked[i].kind != NOTHING)
            n->made[i] = build(n, n->graph->values[i]);
    n->graph->scope = scope;
    RGM_TRY(n->status);
    RGM_TRY(rgm_cgraph_status(n->graph));
    for (int64_t i = 0; i < count; i++)
        narrowed[i] = n->made[values[i]->id];
    return RGM_OK;
}

rgm_status rgm_cgraph_narrow(rgm_value **narrowed, rgm_narrow_part **parts, int64_t *part_count,
                             rgm_value *const *values, int64_t count,
                             const rgm_narrow_options *options)
{
    rgm_status status = RGM_OK;
    narrower n = {.graph = NULL};

    *parts = NULL;
    *part_count = 0;
    for (int64_t i = 0; i < count; i++) {
        if (values[i] == NULL || values[i]->graph != values[0]->graph)
            return RGM_FAIL(RGM_ERR_ARG, "narrow: value %lld is of no or another graph",
                            (long long)i);
        narrowed[i] = values[i];
    }
    if (count == 0)
        return RGM_OK;
    RGM_TRY(rgm_cgraph_status(values[0]->graph));
    RGM_GO(narrower_init(&n, values[0]->graph, options));
    RGM_GO(narrow(&n, narrowed, values, count));
    *parts = n.parts;
    *part_count = n.part_count;
    n.parts = NULL;
done:
    narrower_clear(&n);
    return status;
}
