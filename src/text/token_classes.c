/*
 * Classes of pairs by their two lengths, such that little is padded with few different shapes.
 * Pairs are first counted in cells of a grid whose steps grow by a tenth; then the two classes that
 * cost least when merged are merged, until few enough are left. Cost is what a batch computes on:
 * padded ids, and for each batch a part of the budget, since a small batch is slower for its size.
 */
#include "token_batches.h"

#include <math.h>
#include <string.h>

/** A batch costs as much as this part of its budget beside its ids. */
enum { BATCH_OVERHEAD = 8 };

typedef struct cell {
    rgmi_token_class c;
    double rows;     /* that its pairs make in an epoch; c.count is that, rounded */
    int32_t into;    /* the class it was merged into; itself when it stands */
    int32_t partner; /* the best to merge with, of those behind it          */
    double gain;     /* cost saved by that                                   */
} cell;

typedef struct grid {
    int32_t *step_of; /* [most + 1] grid step of a length */
    int64_t steps;
    int32_t *cell_of; /* [steps * steps] or -1            */
    cell *cells;
    int64_t count;
    const rgm_token_batch_options *options;
} grid;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t rgmi_token_class_batches(const rgmi_token_class *c, const rgm_token_batch_options *o)
{
    int64_t rows = o->tokens / larger(c->source, c->target);

    if (o->max_rows > 0 && rows > o->max_rows)
        rows = o->max_rows;
    return (c->count + rows - 1) / rows;
}

static double cost_of(const rgmi_token_class *c, const rgm_token_batch_options *o)
{
    return (double)c->count * (double)(c->source + c->target) +
           (double)rgmi_token_class_batches(c, o) * (double)o->tokens / BATCH_OVERHEAD;
}

static rgmi_token_class merged(const rgmi_token_class *a, const rgmi_token_class *b)
{
    return (rgmi_token_class){.source = larger(a->source, b->source),
                              .target = larger(a->target, b->target),
                              .count = a->count + b->count};
}

static double gain_of(const grid *g, int64_t a, int64_t b)
{
    rgmi_token_class both = merged(&g->cells[a].c, &g->cells[b].c);

    return cost_of(&g->cells[a].c, g->options) + cost_of(&g->cells[b].c, g->options) -
           cost_of(&both, g->options);
}

/* ---- the grid -------------------------------------------------------------------------------- */

static void grid_clear(grid *g)
{
    rgm_free(g->step_of);
    rgm_free(g->cell_of);
    rgm_free(g->cells);
}

/** Steps end at 0, 1, 2, .., 20, 22, 24, 26, 28, 30, 33, 36, ...: a tenth more, one at least. */
static rgm_status grid_create(grid *g, const rgm_token_batch_options *options)
{
    int64_t most = options->max_length;
    int64_t end = 0;

    g->options = options;
    RGM_TRY(RGM_NEW(g->step_of, most + 1));
    for (int64_t length = 0; length <= most; length++) {
        if (length > end) {
            end = larger(end + 1, end + end / 10);
            g->steps++;
        }
        g->step_of[length] = (int32_t)g->steps;
    }
    g->steps++;
    RGM_TRY(RGM_NEW(g->cell_of, g->steps * g->steps));
    memset(g->cell_of, 0xff, (size_t)(g->steps * g->steps) * sizeof *g->cell_of);
    return RGM_OK;
}

static int32_t *place_of(const grid *g, int32_t source, int32_t target)
{
    return &g->cell_of[g->step_of[source] * g->steps + g->step_of[target]];
}

static rgm_status count_pairs(grid *g, const rgmi_lengths *lengths)
{
    int64_t capacity = 0;

    for (int64_t i = 0; i < lengths->count; i++) {
        int32_t *place;
        rgmi_token_class *c;
        double *rows;

        if (lengths->source[i] == 0)
            continue;
        place = place_of(g, lengths->source[i], lengths->target[i]);
        if (*place < 0) {
            RGM_TRY(RGM_RESERVE(g->cells, capacity, g->count + 1));
            g->cells[g->count] = (cell){.into = (int32_t)g->count};
            *place = (int32_t)g->count++;
        }
        c = &g->cells[*place].c;
        c->source = larger(c->source, lengths->source[i]);
        c->target = larger(c->target, lengths->target[i]);
        rows = &g->cells[*place].rows;
        *rows += lengths->times[i];
        c->count = (int64_t)llround(*rows);
    }
    return RGM_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool stands(const grid *g, int64_t a)
{
    return g->cells[a].into == a;
}

static void find_partner(grid *g, int64_t a)
{
    g->cells[a].partner = -1;
    for (int64_t b = a + 1; b < g->count; b++) {
        double gain;

        if (!stands(g, b))
            continue;
        gain = gain_of(g, a, b);
        if (g->cells[a].partner < 0 || gain > g->cells[a].gain) {
            g->cells[a].partner = (int32_t)b;
            g->cells[a].gain = gain;
        }
    }
}

/** Merge b into a, a < b, and tell those whose partner that was. */
static void merge(grid *g, int64_t a, int64_t b)
{
    g->cells[a].c = merged(&g->cells[a].c, &g->cells[b].c);
    g->cells[b].into = (int32_t)a;
    for (int64_t i = 0; i < b; i++) {
        double gain;

        if (!stands(g, i))
            continue;
        if (i == a || g->cells[i].partner == a || g->cells[i].partner == b) {
            find_partner(g, i);
        } else if (i < a && (gain = gain_of(g, i, a)) > g->cells[i].gain) {
            g->cells[i].partner = (int32_t)a;
            g->cells[i].gain = gain;
        }
    }
}

/** Down to `most` classes, and on while it saves something. */
static void merge_cells(grid *g, int64_t most)
{
    for (int64_t a = 0; a < g->count; a++)
        find_partner(g, a);
    for (int64_t left = g->count; left > 1; left--) {
        int64_t best = -1;

        for (int64_t a = 0; a < g->count; a++)
            if (stands(g, a) && g->cells[a].partner >= 0 &&
                (best < 0 || g->cells[a].gain > g->cells[best].gain))
                best = a;
        if (left <= most && g->cells[best].gain <= 0)
            return;
        merge(g, best, g->cells[best].partner);
    }
}

/* ---- the result ------------------------------------------------------------------------------ */

static bool comes_before(const rgmi_token_class *a, const rgmi_token_class *b)
{
    int64_t long_a = larger(a->source, a->target), long_b = larger(b->source, b->target);

    if (long_a != long_b)
        return long_a < long_b;
    return a->source != b->source ? a->source < b->source : a->target < b->target;
}

/** The cells that stand, shortest first; `number` says which class each of these is. */
static rgm_status list_classes(rgmi_token_class **classes, int64_t *count, int32_t *number,
                               const grid *g)
{
    int64_t n = 0;
    rgmi_token_class *list;

    RGM_TRY(RGM_NEW(list, g->count));
    for (int64_t a = 0; a < g->count; a++) {
        int64_t at = n;

        if (!stands(g, a))
            continue;
        for (; at > 0 && comes_before(&g->cells[a].c, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = g->cells[a].c;
        list[at].batches = a; /* for now: where it came from */
        n++;
    }
    for (int64_t k = 0; k < n; k++) {
        number[list[k].batches] = (int32_t)k;
        list[k].batches = rgmi_token_class_batches(&list[k], g->options);
    }
    *classes = list;
    *count = n;
    return RGM_OK;
}

rgm_status rgmi_token_classes(rgmi_token_class **classes, int64_t *class_count, int32_t *class_of,
                              const rgmi_lengths *lengths, const rgm_token_batch_options *options)
{
    rgm_status status = RGM_OK;
    grid g = {0};
    int32_t *number = NULL;

    *classes = NULL;
    *class_count = 0;
    RGM_GO(grid_create(&g, options));
    RGM_GO(count_pairs(&g, lengths));
    merge_cells(&g, options->max_shapes / 2);
    RGM_GO(RGM_NEW(number, g.count));
    RGM_GO(list_classes(classes, class_count, number, &g));
    for (int64_t i = 0; i < lengths->count; i++) {
        int32_t c =
            lengths->source[i] > 0 ? *place_of(&g, lengths->source[i], lengths->target[i]) : -1;

        while (c >= 0 && g.cells[c].into != c)
            c = g.cells[c].into;
        class_of[i] = c >= 0 ? number[c] : -1;
    }
done:
    rgm_free(number);
    grid_clear(&g);
    return status;
}
