/*
 * Regression trees (CART, Breiman et al. 1984) grown until their leaves are pure, whose leaves are
 * boxes of the space: what a functional analysis of variance needs. Splits minimise the squared
 * error; categories are split in the order of their means, which finds the best of all subsets.
 */
#include "samplers_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sorted {
    double x;
    int64_t slot;
} sorted;

typedef struct category {
    double sum;
    int64_t count, place;
} category;

/* A way to part the slots of a leaf. */
typedef struct cut {
    double score; /* sum^2 / count of both sides: the higher, the smaller the error */
    int64_t axis;
    double threshold; /* numeric: left is x <= threshold, those that lack it on `lacking_left` */
    bool lacking_left;
    bool by_lacking; /* left: have it; right: lack it */
    int64_t prefix;  /* categorical: of the categories in order, those on the left */
} cut;

typedef struct grower {
    const rgmi_table *table;
    rgmi_forest_tree *tree;
    const int64_t *rows; /* [count] of each slot: the bootstrap sample */
    int64_t count;
    int64_t *order;         /* [axis_count, count] slots, in each leaf's range by the axis */
    int64_t *begins, *ends; /* [leaf_capacity] ranges of the leaves */
    int64_t *first_place;   /* [axis_count] of categorical axes among the places */
    int64_t *moved;         /* [count]                */
    bool *left;             /* [count] by slot        */
    category *categories;   /* [places]               */
} grower;

static double x_of(const grower *g, int64_t slot, int64_t axis)
{
    return g->table->x[g->rows[slot] * g->table->axis_count + axis];
}

static double y_of(const grower *g, int64_t slot)
{
    return g->table->y[g->rows[slot]];
}

static bool is_categorical(const grower *g, int64_t axis)
{
    return g->table->axes[axis].kind == RGM_HYPER_CATEGORICAL;
}

/* A choice's place on its axis; the last is for those that lack it. */
static int64_t place_of(const grower *g, int64_t slot, int64_t axis)
{
    double x = x_of(g, slot, axis);

    return isnan(x) ? g->table->axes[axis].choices : (int64_t)x;
}

/* ---- the best cut of a leaf ---------------------------------------------------------------- */

static double score_of(double left_sum, int64_t left, double right_sum, int64_t right)
{
    return left_sum * left_sum / (double)left + right_sum * right_sum / (double)right;
}

static void offer(cut *best, const cut *offered)
{
    if (best->axis < 0 || offered->score > best->score)
        *best = *offered;
}

static void cut_numeric(cut *best, const grower *g, int64_t leaf, int64_t axis)
{
    const int64_t *slots = g->order + axis * g->count;
    int64_t begin = g->begins[leaf], end = g->ends[leaf], there = end, n = end - begin;
    double all = 0, lacking = 0, sum = 0;

    for (int64_t i = begin; i < end; i++) { /* those that lack it are sorted behind */
        all += y_of(g, slots[i]);
        if (!isnan(x_of(g, slots[i], axis)))
            continue;
        there = i < there ? i : there;
        lacking += y_of(g, slots[i]);
    }
    for (int64_t i = begin; i + 1 < there; i++) {
        double x = x_of(g, slots[i], axis), next = x_of(g, slots[i + 1], axis);
        int64_t left = i + 1 - begin, absent = end - there;
        sum += y_of(g, slots[i]);
        if (!(x < next))
            continue;
        cut c = {.axis = axis, .threshold = x + 0.5 * (next - x)};
        c.threshold = c.threshold < next ? c.threshold : x;
        c.lacking_left = absent == 0 && left > n - left;
        c.score = score_of(sum, left, all - sum, n - left);
        offer(best, &c);
        c.lacking_left = true;
        c.score = absent == 0 ? -1.0
                              : score_of(sum + lacking, left + absent, all - sum - lacking,
                                         n - left - absent);
        offer(best, &c);
    }
    if (there > begin && there < end) {
        cut c = {.axis = axis, .by_lacking = true};
        c.score = score_of(all - lacking, there - begin, lacking, end - there);
        offer(best, &c);
    }
}

static int by_mean(const void *a, const void *b)
{
    const category *p = a, *q = b;
    double x, y;

    if (p->count == 0 || q->count == 0) /* empty ones last */
        return p->count != q->count ? (p->count == 0 ? 1 : -1)
                                    : (p->place > q->place) - (p->place < q->place);
    x = p->sum / (double)p->count;
    y = q->sum / (double)q->count;
    if (x != y)
        return x < y ? -1 : 1;
    return p->place < q->place ? -1 : p->place > q->place;
}

/* The categories of a leaf by their means; returns how many are not empty. */
static int64_t sort_categories(const grower *g, int64_t leaf, int64_t axis)
{
    int64_t places = g->table->axes[axis].choices + 1, used = 0;

    for (int64_t p = 0; p < places; p++)
        g->categories[p] = (category){.place = p};
    for (int64_t i = g->begins[leaf]; i < g->ends[leaf]; i++) {
        int64_t slot = g->order[axis * g->count + i];
        category *c = &g->categories[place_of(g, slot, axis)];
        used += c->count == 0;
        c->sum += y_of(g, slot);
        c->count++;
    }
    qsort(g->categories, (size_t)places, sizeof *g->categories, by_mean);
    return used;
}

static void cut_categorical(cut *best, const grower *g, int64_t leaf, int64_t axis)
{
    int64_t used = sort_categories(g, leaf, axis), n = g->ends[leaf] - g->begins[leaf], left = 0;
    double all = 0, sum = 0;

    for (int64_t p = 0; p < used; p++)
        all += g->categories[p].sum;
    for (int64_t p = 0; p + 1 < used; p++) {
        left += g->categories[p].count;
        sum += g->categories[p].sum;
        cut c = {.axis = axis, .prefix = p + 1};
        c.score = score_of(sum, left, all - sum, n - left);
        offer(best, &c);
    }
}

/* ---- cutting ------------------------------------------------------------------------------- */

/* Who goes left, and how many. */
static int64_t mark(grower *g, int64_t leaf, const cut *c)
{
    int64_t count = 0;

    for (int64_t i = g->begins[leaf]; i < g->ends[leaf]; i++) {
        int64_t slot = g->order[c->axis * g->count + i];
        double x = x_of(g, slot, c->axis);
        bool left;
        if (is_categorical(g, c->axis)) {
            int64_t place = place_of(g, slot, c->axis);
            left = false;
            for (int64_t p = 0; p < c->prefix && !left; p++)
                left = g->categories[p].place == place;
        } else if (c->by_lacking) {
            left = !isnan(x);
        } else {
            left = isnan(x) ? c->lacking_left : x <= c->threshold;
        }
        g->left[slot] = left;
        count += left;
    }
    return count;
}

/* Each axis keeps its order on both sides. */
static void partition(grower *g, int64_t begin, int64_t end)
{
    for (int64_t axis = 0; axis < g->table->axis_count; axis++) {
        int64_t *slots = g->order + axis * g->count, left = begin, right = 0;
        for (int64_t i = begin; i < end; i++) {
            if (g->left[slots[i]])
                slots[left++] = slots[i];
            else
                g->moved[right++] = slots[i];
        }
        memcpy(slots + left, g->moved, (size_t)right * sizeof *slots);
    }
}

static void cut_box(const grower *g, int64_t a, int64_t b, const cut *c, bool more_left)
{
    const rgmi_forest_tree *t = g->tree;
    int64_t left = a * t->axis_count + c->axis, right = b * t->axis_count + c->axis;

    if (is_categorical(g, c->axis)) {
        int64_t places = g->table->axes[c->axis].choices + 1, first = g->first_place[c->axis];
        for (int64_t p = 0; p < places; p++) {
            bool is_left = g->categories[p].count == 0 ? more_left : p < c->prefix;
            int64_t place = first + g->categories[p].place;
            t->sets[(is_left ? b : a) * t->places + place] = false;
        }
    } else if (c->by_lacking) {
        t->lacking[left] = false;
        t->highs[right] = t->lows[right];
    } else {
        t->highs[left] = t->lows[right] = c->threshold;
        t->lacking[left] = t->lacking[left] && c->lacking_left;
        t->lacking[right] = t->lacking[right] && !c->lacking_left;
    }
}

static void copy_leaf(const rgmi_forest_tree *t, int64_t to, int64_t from)
{
    size_t axes = (size_t)t->axis_count, places = (size_t)t->places;

    memcpy(t->lows + to * t->axis_count, t->lows + from * t->axis_count, axes * sizeof *t->lows);
    memcpy(t->highs + to * t->axis_count, t->highs + from * t->axis_count, axes * sizeof *t->highs);
    memcpy(t->lacking + to * t->axis_count, t->lacking + from * t->axis_count,
           axes * sizeof *t->lacking);
    memcpy(t->sets + to * t->places, t->sets + from * t->places, places * sizeof *t->sets);
}

/* false: the leaf is pure, or its trials are all at one place. */
static bool split(grower *g, int64_t leaf)
{
    const int64_t *slots = g->order;
    int64_t begin = g->begins[leaf], end = g->ends[leaf], made = g->tree->leaf_count, count;
    cut best = {.axis = -1};
    bool pure = true;

    for (int64_t i = begin + 1; i < end && pure; i++)
        pure = y_of(g, slots[i]) == y_of(g, slots[begin]);
    if (pure)
        return false;
    for (int64_t axis = 0; axis < g->table->axis_count; axis++) {
        if (is_categorical(g, axis))
            cut_categorical(&best, g, leaf, axis);
        else
            cut_numeric(&best, g, leaf, axis);
    }
    if (best.axis < 0)
        return false;
    if (is_categorical(g, best.axis))
        sort_categories(g, leaf, best.axis);
    count = mark(g, leaf, &best);
    partition(g, begin, end);
    copy_leaf(g->tree, made, leaf);
    cut_box(g, leaf, made, &best, count > end - begin - count);
    g->ends[leaf] = g->begins[made] = begin + count;
    g->ends[made] = end;
    g->tree->leaf_count++;
    return true;
}

/* ---- a tree -------------------------------------------------------------------------------- */

static int by_x(const void *a, const void *b)
{
    const sorted *p = a, *q = b;

    if (isnan(p->x) != isnan(q->x))
        return isnan(p->x) ? 1 : -1;
    if (!isnan(p->x) && p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return p->slot < q->slot ? -1 : p->slot > q->slot;
}

static rgm_status sort_slots(grower *g)
{
    sorted *all;

    RGM_TRY(RGM_NEW(all, g->count));
    for (int64_t axis = 0; axis < g->table->axis_count; axis++) {
        for (int64_t i = 0; i < g->count; i++)
            all[i] = (sorted){x_of(g, i, axis), i};
        qsort(all, (size_t)g->count, sizeof *all, by_x);
        for (int64_t i = 0; i < g->count; i++)
            g->order[axis * g->count + i] = all[i].slot;
    }
    rgm_free(all);
    return RGM_OK;
}

/* A leaf for each slot at most. */
static rgm_status make_room(grower *g)
{
    const rgmi_table *table = g->table;
    rgmi_forest_tree *t = g->tree;
    int64_t n = g->count, most = 1;

    RGM_TRY(RGM_NEW(g->first_place, table->axis_count));
    for (int64_t axis = 0; axis < table->axis_count; axis++) {
        g->first_place[axis] = t->places;
        if (!is_categorical(g, axis))
            continue;
        t->places += table->axes[axis].choices + 1;
        most = table->axes[axis].choices + 1 > most ? table->axes[axis].choices + 1 : most;
    }
    RGM_TRY(RGM_NEW(t->values, n));
    RGM_TRY(RGM_NEW(t->lows, n * t->axis_count));
    RGM_TRY(RGM_NEW(t->highs, n * t->axis_count));
    RGM_TRY(RGM_NEW(t->lacking, n * t->axis_count));
    RGM_TRY(RGM_NEW(t->sets, n * t->places + 1));
    RGM_TRY(RGM_NEW(g->order, n * table->axis_count));
    RGM_TRY(RGM_NEW(g->begins, n));
    RGM_TRY(RGM_NEW(g->ends, n));
    RGM_TRY(RGM_NEW(g->moved, n));
    RGM_TRY(RGM_NEW(g->left, n));
    RGM_TRY(RGM_NEW(g->categories, most));
    return RGM_OK;
}

static void grow(grower *g)
{
    rgmi_forest_tree *t = g->tree;

    t->leaf_count = 1;
    g->ends[0] = g->count;
    for (int64_t axis = 0; axis < t->axis_count; axis++) {
        t->highs[axis] = 1.0;
        t->lacking[axis] = true;
    }
    for (int64_t p = 0; p < t->places; p++)
        t->sets[p] = true;
    for (int64_t leaf = 0; leaf < t->leaf_count; leaf++) {
        double sum = 0;
        while (split(g, leaf))
            ;
        for (int64_t i = g->begins[leaf]; i < g->ends[leaf]; i++)
            sum += y_of(g, g->order[i]);
        t->values[leaf] = sum / (double)(g->ends[leaf] - g->begins[leaf]);
    }
}

rgm_status rgmi_tree_grow(rgmi_forest_tree *out, const rgmi_table *table, const int64_t *rows,
                          int64_t count)
{
    rgm_status status = RGM_OK;
    grower g = {.table = table, .tree = out, .rows = rows, .count = count};

    *out = (rgmi_forest_tree){.axis_count = table->axis_count};
    RGM_GO(make_room(&g));
    RGM_GO(sort_slots(&g));
    grow(&g);
done:
    rgm_free(g.order);
    rgm_free(g.begins);
    rgm_free(g.ends);
    rgm_free(g.first_place);
    rgm_free(g.moved);
    rgm_free(g.left);
    rgm_free(g.categories);
    return status;
}

void rgmi_tree_clear(rgmi_forest_tree *t)
{
    rgm_free(t->values);
    rgm_free(t->lows);
    rgm_free(t->highs);
    rgm_free(t->lacking);
    rgm_free(t->sets);
    *t = (rgmi_forest_tree){0};
}
