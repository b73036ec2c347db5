/*
 * What token batches decide once, with the recipe: which pairs are in and how often, their classes,
 * how many rows each batch has. Nothing of it depends on the epoch.
 */
#include "token_batches.h"

#include <math.h>
#include <stdlib.h>

void rgmi_token_plan_release(rgmi_token_plan *plan)
{
    if (plan == NULL)
        return;
    rgm_token_pairs_release(plan->pairs);
    rgm_corpus_release(plan->corpus);
    rgm_tokenizer_release(plan->source);
    rgm_tokenizer_release(plan->target);
    if (plan->sets != &plan->one_set)
        rgm_free(plan->sets);
    rgm_free(plan->classes);
    rgm_free(plan->first_row);
    rgm_free(plan->first_batch);
    rgm_free(plan->order);
    rgm_free(plan->shares);
    rgm_free(plan);
}

/* ---- lengths ----------------------------------------------------------------------- */

int64_t rgmi_token_length(int64_t length, const rgm_token_batch_options *o)
{
    return length <= o->max_length ? length : o->training ? 0 : o->max_length;
}

/** What is known of every pair while the plan is made. */
typedef struct pair_sizes {
    int32_t *source, *target; /* ids that it has room for; a source of 0: it is left out */
    double *tokens;           /* ids of both sides that it has, in the mean               */
    double *times;            /* rows that it makes in an epoch                           */
    int32_t *class_of;
    int64_t count;
} pair_sizes;

static void sizes_clear(pair_sizes *p)
{
    rgm_free(p->source);
    rgm_free(p->target);
    rgm_free(p->tokens);
    rgm_free(p->times);
    rgm_free(p->class_of);
}

static rgm_status sizes_create(pair_sizes *p, int64_t count)
{
    p->count = count;
    RGM_TRY(RGM_NEW(p->source, count));
    RGM_TRY(RGM_NEW(p->target, count));
    RGM_TRY(RGM_NEW(p->tokens, count));
    RGM_TRY(RGM_NEW(p->times, count));
    return RGM_NEW(p->class_of, count);
}

static void measure(pair_sizes *p, rgmi_token_plan *plan)
{
    const rgm_token_batch_options *o = &plan->options;
    int64_t set = 0, end = plan->sets[0].pairs;

    for (int64_t i = 0; i < p->count; i++) {
        int64_t s, t;

        while (i >= end)
            end += plan->sets[++set].pairs;
        p->times[i] = plan->sets[set].times;
        (void)rgm_token_pairs_source(plan->pairs, i, &s);
        (void)rgm_token_pairs_target(plan->pairs, i, &t);
        p->source[i] = (int32_t)rgmi_token_length(s, o);
        p->target[i] = (int32_t)rgmi_token_length(t, o);
        if (p->source[i] == 0 || (p->target[i] == 0 && t > 0)) {
            p->source[i] = p->target[i] = 0;
            plan->figures.dropped++;
            continue;
        }
        plan->kept++;
        plan->figures.cut += s > o->max_length || t > o->max_length;
        p->tokens[i] = p->source[i] + p->target[i];
    }
}

/** Room for longer segmentations than the usual one, of the pairs that are in by that one. */
static rgm_status make_room(pair_sizes *p, const rgmi_token_plan *plan)
{
    rgm_status status = RGM_OK;
    int32_t most = (int32_t)plan->options.max_length;
    rgmi_room *rooms;

    RGM_TRY(RGM_NEW(rooms, p->count));
    for (int64_t i = 0; i < p->count; i++)
        p->tokens[i] = 0;
    for (int side = 0; side < 2; side++) {
        int32_t *length = side == 0 ? p->source : p->target;

        RGM_GO(rgmi_sampling_measure(rooms, &plan->options.sampling, side));
        for (int64_t i = 0; i < p->count; i++) {
            if (p->source[i] == 0 || rooms[i].longest == 0)
                continue;
            if (rooms[i].longest > length[i])
                length[i] = rooms[i].longest < most ? rooms[i].longest : most;
            p->tokens[i] += rooms[i].mean < length[i] ? rooms[i].mean : length[i];
        }
    }
done:
    rgm_free(rooms);
    return status;
}

/* ---- classes ----------------------------------------------------------------------- */

typedef struct place {
    int32_t class, set, source, target;
    int64_t pair;
} place;

static int by_class_and_length(const void *x, const void *y)
{
    const place *a = x, *b = y;

    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    return a->pair < b->pair ? -1 : a->pair > b->pair;
}

/** The order, and how many pairs of each set each class has. */
static rgm_status put_in_order(rgmi_token_plan *plan, const pair_sizes *p)
{
    place *places;
    int64_t n = 0, set = 0, end = plan->sets[0].pairs;

    RGM_TRY(RGM_NEW(places, plan->kept));
    for (int64_t i = 0; i < p->count; i++) {
        while (i >= end)
            end += plan->sets[++set].pairs;
        if (p->class_of[i] < 0)
            continue;
        places[n++] = (place){p->class_of[i], (int32_t)set, p->source[i], p->target[i], i};
        plan->shares[p->class_of[i] * plan->set_count + set].pairs++;
    }
    qsort(places, (size_t)n, sizeof *places, by_class_and_length);
    for (int64_t i = 0; i < n; i++)
        plan->order[i] = places[i].pair;
    rgm_free(places);
    return RGM_OK;
}

/** Rows of each share: parts of pairs are summed up over the classes and rounded once for a set. */
static void share_out(rgmi_token_plan *plan)
{
    int64_t begin = 0;

    for (int64_t i = 0; i < plan->class_count * plan->set_count; i++) {
        plan->shares[i].begin = begin;
        begin += plan->shares[i].pairs;
    }
    for (int64_t k = 0; k < plan->class_count; k++)
        plan->classes[k].count = 0;
    for (int64_t j = 0; j < plan->set_count; j++) {
        double times = plan->sets[j].times, part = times - floor(times);
        int64_t seen = 0;

        for (int64_t k = 0; k < plan->class_count; k++) {
            rgmi_token_share *s = &plan->shares[k * plan->set_count + j];

            s->whole = (int64_t)floor(times);
            s->extra = llround((double)(seen + s->pairs) * part) - llround((double)seen * part);
            seen += s->pairs;
            plan->classes[k].count += s->pairs * s->whole + s->extra;
        }
    }
}

void rgmi_token_plan_rows(int64_t *begin, int64_t *end, const rgmi_token_plan *plan,
                          const rgmi_token_class *c, int64_t j)
{
    int64_t full = plan->options.tokens / plan->options.max_length;
    int64_t least = c->count / c->batches, more = c->count % c->batches;

    if (plan->options.one_shape) {
        *begin = j * full;
        *end = *begin + full < c->count ? *begin + full : c->count;
        return;
    }
    *begin = j * least + (j < more ? j : more);
    *end = *begin + least + (j < more);
}

/** Tokens of an epoch's rows: of a share's extra rows as many as its pairs have in the mean. */
static double tokens_of(const rgmi_token_plan *plan, const pair_sizes *p, const rgmi_token_share *s)
{
    double tokens = 0;

    for (int64_t i = s->begin; i < s->begin + s->pairs; i++)
        tokens += p->tokens[plan->order[i]];
    return s->pairs > 0 ? tokens * ((double)s->whole + (double)s->extra / (double)s->pairs) : 0;
}

static void sum_up(rgmi_token_plan *plan, const pair_sizes *p)
{
    rgm_token_batch_figures *f = &plan->figures;
    const rgm_token_batch_options *o = &plan->options;
    double real = 0;

    for (int64_t k = 0; k < plan->class_count; k++) {
        rgmi_token_class *c = &plan->classes[k];

        c->batches = rgmi_token_class_batches(c, o);
        plan->first_row[k + 1] = plan->first_row[k] + c->count;
        plan->first_batch[k + 1] = plan->first_batch[k] + c->batches;
        if (c->batches == 0)
            continue;
        f->shapes += 1 + (!o->one_shape && c->count % c->batches != 0);
        f->padded_tokens += (o->one_shape ? c->batches * (o->tokens / o->max_length) : c->count) *
                            (c->source + c->target);
    }
    for (int64_t i = 0; i < plan->class_count * plan->set_count; i++)
        real += tokens_of(plan, p, &plan->shares[i]);
    f->real_tokens = llround(real);
    f->pairs = plan->first_row[plan->class_count];
    f->batches = plan->first_batch[plan->class_count];
}

/** One class for all: every batch has its shape. */
static rgm_status choose_one_class(rgmi_token_plan *plan, pair_sizes *p)
{
    int64_t most = plan->options.max_length, length = 0;

    for (int64_t i = 0; i < p->count; i++) {
        p->class_of[i] = p->source[i] > 0 ? 0 : -1;
        length = p->target[i] > 0 ? most : length;
    }
    RGM_TRY(RGM_NEW(plan->classes, 1));
    plan->classes[0] = (rgmi_token_class){.source = most, .target = length};
    plan->class_count = 1;
    return RGM_OK;
}

static rgm_status choose_classes(rgmi_token_plan *plan, pair_sizes *p)
{
    const rgmi_lengths lengths = {p->source, p->target, p->times, p->count};

    if (plan->options.one_shape)
        return choose_one_class(plan, p);
    return rgmi_token_classes(&plan->classes, &plan->class_count, p->class_of, &lengths,
                              &plan->options);
}

static rgm_status make_plan(rgmi_token_plan *plan)
{
    rgm_status status = RGM_OK;
    pair_sizes sizes = {0};

    RGM_GO(sizes_create(&sizes, rgm_token_pairs_count(plan->pairs)));
    measure(&sizes, plan);
    if (plan->kept == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                        "token batches: of %lld pairs none has at most %lld ids a side",
                        (long long)sizes.count, (long long)plan->options.max_length));
    if (plan->corpus != NULL)
        RGM_GO(make_room(&sizes, plan));
    RGM_GO(choose_classes(plan, &sizes));
    RGM_GO(RGM_NEW(plan->first_row, plan->class_count + 1));
    RGM_GO(RGM_NEW(plan->first_batch, plan->class_count + 1));
    RGM_GO(RGM_NEW(plan->order, plan->kept));
    RGM_GO(RGM_NEW(plan->shares, plan->class_count * plan->set_count));
    RGM_GO(put_in_order(plan, &sizes));
    share_out(plan);
    sum_up(plan, &sizes);
    if (plan->figures.pairs == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "token batches: no set stands in an epoch"));
done:
    sizes_clear(&sizes);
    return status;
}

/* ---- making it ---------------------------------------------------------------------------------
 */

static rgm_status check_options(const rgm_token_batch_options *o)
{
    if (o->max_length < 1 || o->max_length > 1 << 16)
        return RGM_FAIL(RGM_ERR_ARG, "token batches: max_length is %lld; it is 1 to %d",
                        (long long)o->max_length, 1 << 16);
    if (o->tokens < o->max_length)
        return RGM_FAIL(RGM_ERR_ARG,
                        "token batches: a budget of %lld tokens cannot hold one pair of %lld",
                        (long long)o->tokens, (long long)o->max_length);
    if (o->max_rows < 0 || o->max_shapes < 2)
        return RGM_FAIL(RGM_ERR_ARG,
                        "token batches: max_rows is %lld (0 at least), max_shapes %lld "
                        "(2 at least)",
                        (long long)o->max_rows, (long long)o->max_shapes);
    if (o->dtype != RGM_I32 && o->dtype != RGM_I64)
        return RGM_FAIL(RGM_ERR_ARG, "token batches: ids are of dtype i32 or i64");
    if (!o->training && (o->set_count > 0 || o->sampling.alpha > 0))
        return RGM_FAIL(RGM_ERR_ARG, "token batches: sets and sampling are of training alone");
    return o->one_shape && o->max_rows > 0
               ? RGM_FAIL(RGM_ERR_ARG, "token batches: max_rows does not go with one_shape")
               : RGM_OK;
}

/** The sets cover all pairs. */
static rgm_status take_sets(rgmi_token_plan *plan)
{
    rgm_token_batch_options *o = &plan->options;
    const rgm_token_batch_set *given = o->sets;
    int64_t count = rgm_token_pairs_count(plan->pairs), sum = 0;

    plan->one_set = (rgm_token_batch_set){count, 1};
    plan->sets = &plan->one_set;
    plan->set_count = 1;
    if (o->set_count == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(plan->sets, o->set_count));
    o->sets = plan->sets;
    plan->set_count = o->set_count;
    for (int64_t j = 0; j < o->set_count; j++) {
        plan->sets[j] = given[j];
        sum += given[j].pairs;
        if (given[j].pairs < 1 || !(given[j].times >= 0 && given[j].times <= 1e6))
            return RGM_FAIL(RGM_ERR_ARG, "token batches: set %lld has %lld pairs, %g times each",
                            (long long)j, (long long)given[j].pairs, given[j].times);
    }
    return sum == count ? RGM_OK
                        : RGM_FAIL(RGM_ERR_ARG, "token batches: sets of %lld pairs, there are %lld",
                                   (long long)sum, (long long)count);
}

/** Hold what segmentations are drawn from. */
static rgm_status take_sampling(rgmi_token_plan *plan)
{
    rgm_subword_sampling *s = &plan->options.sampling;
    int64_t count = rgm_token_pairs_count(plan->pairs);

    if (s->alpha == 0)
        return RGM_OK;
    if (s->corpus == NULL || s->source == NULL || s->target == NULL ||
        rgm_corpus_count(s->corpus) != count)
        return RGM_FAIL(RGM_ERR_ARG,
                        "token batches: sampling needs the corpus of these %lld pairs and its "
                        "tokenizers",
                        (long long)count);
    s->corpus = plan->corpus = rgm_corpus_retain(s->corpus);
    s->source = plan->source = rgm_tokenizer_retain(s->source);
    s->target = plan->target = rgm_tokenizer_retain(s->target);
    return RGM_OK;
}

rgm_status rgmi_token_plan_create(rgmi_token_plan **out, const rgm_token_pairs *pairs,
                                  const rgm_token_batch_options *options)
{
    rgm_status status = RGM_OK;
    rgmi_token_plan *plan = NULL;

    *out = NULL;
    RGM_TRY(check_options(options));
    RGM_GO(RGM_NEW(plan, 1));
    plan->options = *options;
    plan->pairs = rgm_token_pairs_retain(pairs);
    RGM_GO(take_sets(plan));
    RGM_GO(take_sampling(plan));
    RGM_GO(make_plan(plan));
    *out = plan;
    plan = NULL;
done:
    rgmi_token_plan_release(plan);
    return status;
}
