/*
 * Greedy and beam search and sampling, by sentence: which continuations of its open hypotheses go
 * on, which have ended, and when it is done. Tokens are kept as a tree: a hypothesis is a leaf.
 */
#include <math.h>
#include <stdlib.h>

#include "sequence_internal.h"

/* ---- hypotheses ---------------------------------------------------------------------------- */

void rgm_hypotheses_clear(rgm_hypotheses *hypotheses)
{
    for (int64_t i = 0; i < hypotheses->count; i++)
        rgm_free(hypotheses->items[i].ids);
    rgm_free(hypotheses->items);
    *hypotheses = (rgm_hypotheses){0};
}

/* A token behind its parent (-1: the first). */
typedef struct node {
    int64_t parent;
    int32_t token;
} node;

typedef struct leaf {
    int64_t node; /* of its last token; -1: nothing yet */
    double log_probability, score;
} leaf;

/* A continuation of an open hypothesis. */
typedef struct candidate {
    double log_probability;
    int64_t row; /* of the batch */
    int32_t token;
} candidate;

/* A sentence of the batch. */
typedef struct sentence {
    int64_t number;             /* in the caller's list */
    int64_t longest;            /* tokens of a translation at most */
    leaf open[RGMI_MOST_BEAMS]; /* best first; as many as there are rows */
    leaf done[RGMI_MOST_BEAMS]; /* best first */
    int64_t open_count, done_count;
} sentence;

typedef struct search {
    const rgm_beam_search_options *options;
    rgmi_decoding decoding;
    int64_t vocabulary, steps;
    node *nodes;
    int64_t node_count, node_capacity;
    sentence *sentences; /* those under way, in the batch's order */
    int64_t count;
    int32_t *ids; /* [rows] newest tokens */
    int64_t *parents, *survivors;
    candidate *order; /* [vocabulary] for sampling */
    int64_t top;      /* continuations of a row that are looked at */
    int64_t *top_ids; /* [rows, top], most probable first */
    float *top_log_probabilities;
} search;

static double penalty(const rgm_beam_search_options *o, int64_t length)
{
    return pow((5 + (double)length) / 6, o->alpha);
}

static rgm_status node_add(int64_t *out, search *s, int64_t parent, int32_t token)
{
    RGM_TRY(RGM_RESERVE(s->nodes, s->node_capacity, s->node_count + 1));
    s->nodes[s->node_count] = (node){.parent = parent, .token = token};
    *out = s->node_count++;
    return RGM_OK;
}

/* Insert into a list of at most `most`, best first; equal ones stay in the order in which they
 * came. */
static void keep_best(leaf *list, int64_t *count, int64_t most, leaf item)
{
    int64_t at = *count;

    while (at > 0 && list[at - 1].score < item.score)
        at--;
    if (at == most)
        return;
    if (*count < most)
        (*count)++;
    for (int64_t i = *count - 1; i > at; i--)
        list[i] = list[i - 1];
    list[at] = item;
}

/* ---- continuations ------------------------------------------------------------------------- */

/* The best `most` continuations of a sentence's rows, best first; ties to the lower row and token.
 */
static int64_t best_continuations(candidate *best, int64_t most, const search *s, const sentence *t,
                                  int64_t first_row)
{
    int64_t count = 0;

    for (int64_t beam = 0; beam < t->open_count; beam++) {
        const float *row = s->top_log_probabilities + (first_row + beam) * s->top;
        const int64_t *ids = s->top_ids + (first_row + beam) * s->top;
        double base = t->open[beam].log_probability;
        for (int64_t i = 0; i < s->top; i++) {
            double sum = base + (double)row[i];
            int64_t at;
            if (count == most && !(sum > best[most - 1].log_probability))
                break;
            at = count < most ? count++ : most - 1;
            for (; at > 0 && best[at - 1].log_probability < sum; at--)
                best[at] = best[at - 1];
            best[at] = (candidate){
                .log_probability = sum, .row = first_row + beam, .token = (int32_t)ids[i]};
        }
    }
    return count;
}

static int by_probability(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->log_probability != y->log_probability)
        return x->log_probability > y->log_probability ? -1 : 1;
    return x->token - y->token;
}

/* One continuation, drawn: temperature, then the k most probable, then the fewest that have top_p.
 */
static void drawn_continuation(candidate *out, const search *s, const sentence *t, const float *x,
                               int64_t row)
{
    const rgm_beam_search_options *o = s->options;
    int64_t number = o->first_number + (o->numbers != NULL ? o->numbers[t->number] : t->number);
    rgm_rng rng = rgm_rng_stream((uint64_t)o->seed, "sample", (uint64_t)number);
    double log_sum = (double)x[s->top_ids[row]] - (double)s->top_log_probabilities[row];
    double draw = rgm_rng_f64(&rng, (uint64_t)s->steps), sum = 0, all = 0;
    int64_t count = s->vocabulary, pick = 0;

    for (int64_t v = 0; v < s->vocabulary; v++)
        s->order[v] = (candidate){.log_probability = x[v] - log_sum, .token = (int32_t)v};
    qsort(s->order, (size_t)count, sizeof *s->order, by_probability);
    if (o->top_k > 0 && o->top_k < count)
        count = o->top_k;
    for (int64_t i = 0; i < count; i++)
        all += exp((s->order[i].log_probability - s->order[0].log_probability) / o->temperature);
    for (int64_t i = 0; i < count && o->top_p < 1; i++) {
        sum += exp((s->order[i].log_probability - s->order[0].log_probability) / o->temperature);
        if (sum >= o->top_p * all) {
            count = i + 1;
            all = sum;
        }
    }
    sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += exp((s->order[i].log_probability - s->order[0].log_probability) / o->temperature);
        pick = i;
        if (draw * all < sum)
            break;
    }
    *out = s->order[pick];
    out->row = row;
    out->log_probability += t->open[0].log_probability;
}

/* ---- one step ------------------------------------------------------------------------------ */

/* A sentence takes its continuations; *parents are the rows of those that stay open. */
static rgm_status take(search *s, sentence *t, const candidate *best, int64_t count,
                       int64_t first_row, int64_t *parents)
{
    const rgm_beam_search_options *o = s->options;
    int64_t length = s->steps + 1, open = 0;
    leaf next[RGMI_MOST_BEAMS];

    for (int64_t i = 0; i < count; i++) {
        leaf item = {.log_probability = best[i].log_probability};
        int64_t parent = t->open[best[i].row - first_row].node;
        if (best[i].token == o->end_id) {
            item.node = parent;
            item.score = item.log_probability / penalty(o, length);
            keep_best(t->done, &t->done_count, o->beam_size, item);
        } else if (open < o->beam_size) {
            RGM_TRY(node_add(&item.node, s, parent, best[i].token));
            item.score = item.log_probability;
            parents[open] = best[i].row;
            next[open++] = item;
        }
    }
    memcpy(t->open, next, (size_t)open * sizeof *next);
    t->open_count = open;
    return RGM_OK;
}

static bool is_done(const search *s, const sentence *t)
{
    if (t->open_count == 0 || s->steps + 1 >= t->longest)
        return true;
    return t->done_count > 0 && t->done[t->done_count - 1].score >
                                    t->open[0].log_probability / penalty(s->options, t->longest);
}

static rgm_status hypothesis_make(rgm_hypothesis *out, const search *s, const leaf *from,
                                  bool finished)
{
    int64_t count = 0;

    *out = (rgm_hypothesis){
        .log_probability = from->log_probability, .score = from->score, .finished = finished};
    for (int64_t n = from->node; n >= 0; n = s->nodes[n].parent)
        count++;
    RGM_TRY(RGM_NEW(out->ids, count));
    out->count = count;
    for (int64_t n = from->node; n >= 0; n = s->nodes[n].parent)
        out->ids[--count] = s->nodes[n].token;
    return RGM_OK;
}

static rgm_status finish(rgm_hypotheses *out, const search *s, const sentence *t)
{
    bool finished = t->done_count > 0;
    int64_t count = finished ? t->done_count : t->open_count;

    if (count > s->options->n_best)
        count = s->options->n_best;
    RGM_TRY(RGM_NEW(out->items, count));
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(hypothesis_make(&out->items[i], s, finished ? &t->done[i] : &t->open[i], finished));
        out->count = i + 1;
    }
    return RGM_OK;
}

/* The most probable continuations of each row, and its logits where some are drawn. */
static rgm_status continuations_find(const float **logits, search *s)
{
    *logits = NULL;
    RGM_TRY(rgmi_decoding_step(&s->decoding, s->ids));
    RGM_TRY(rgmi_decoding_top(s->top_log_probabilities, s->top_ids, &s->decoding, s->top));
    return s->options->sample ? rgmi_decoding_logits(logits, &s->decoding) : RGM_OK;
}

static rgm_status search_step(rgm_hypotheses *out, search *s)
{
    const rgm_beam_search_options *o = s->options;
    candidate best[2 * RGMI_MOST_BEAMS];
    const float *logits;
    int64_t kept = 0, row = 0, padded = rgm_seq2seq_padded(s->vocabulary);

    RGM_TRY(continuations_find(&logits, s));
    for (int64_t i = 0; i < s->count; i++) {
        sentence *t = &s->sentences[i];
        int64_t rows = t->open_count, count = 1;
        int64_t *parents = s->parents + kept * o->beam_size;
        if (o->sample)
            drawn_continuation(best, s, t, logits + row * padded, row);
        else
            count = best_continuations(best, s->top, s, t, row);
        RGM_TRY(take(s, t, best, count, row, parents));
        row += rows;
        if (is_done(s, t)) {
            RGM_TRY(finish(&out[t->number], s, t));
            continue;
        }
        for (int64_t k = 0; k < o->beam_size; k++)
            s->ids[kept * o->beam_size + k] = s->nodes[t->open[k].node].token;
        s->survivors[kept] = i;
        if (kept != i)
            s->sentences[kept] = *t;
        kept++;
    }
    s->count = kept;
    s->steps++;
    if (kept == 0)
        return RGM_OK;
    return rgmi_decoding_select(&s->decoding, s->survivors, kept, o->beam_size, s->parents);
}

/* ---- a batch, all of them ------------------------------------------------------------------ */

static int64_t longest_of(const rgm_beam_search_options *o, const rgm_seq2seq *model,
                          int64_t source_length)
{
    int64_t longest =
        o->decode_max_length > 0 ? o->decode_max_length : source_length + o->extra_decode_length;

    return longest < model->options.max_positions ? longest : model->options.max_positions;
}

/* sentences[i]: number in the caller's list; sources and lengths by that number. */
static rgm_status search_batch(rgm_hypotheses *out, rgm_beam_search *beam_search,
                               const int32_t *const *sources, const int64_t *lengths,
                               const int64_t *numbers, int64_t count,
                               const rgm_beam_search_options *options)
{
    rgm_status status = RGM_OK;
    const rgm_seq2seq *model = rgmi_beam_search_model(beam_search);
    search s = {.options = options, .vocabulary = model->target_vocabulary, .count = count};
    const int32_t **batch = NULL;
    int64_t *batch_lengths = NULL, rows = count * options->beam_size;

    s.top = options->beam_size == 1
                ? 1
                : 2 * options->beam_size; /* greedy search ends where its best does */
    RGM_GO(RGM_NEW(batch, count));
    RGM_GO(RGM_NEW(batch_lengths, count));
    RGM_GO(RGM_NEW(s.sentences, count));
    RGM_GO(RGM_NEW(s.ids, rows)); /* zeros: what a translation begins with */
    RGM_GO(RGM_NEW(s.parents, rows));
    RGM_GO(RGM_NEW(s.survivors, count));
    RGM_GO(RGM_NEW(s.top_ids, rows * s.top));
    RGM_GO(RGM_NEW(s.top_log_probabilities, rows * s.top));
    if (options->sample)
        RGM_GO(RGM_NEW(s.order, s.vocabulary));
    for (int64_t i = 0; i < count; i++) {
        batch[i] = sources[numbers[i]];
        batch_lengths[i] = lengths[numbers[i]];
        s.sentences[i].number = numbers[i];
        s.sentences[i].longest = longest_of(options, model, batch_lengths[i]);
        s.sentences[i].open[0] = (leaf){.node = -1};
        s.sentences[i].open_count = 1;
    }
    RGM_GO(rgmi_decoding_open(&s.decoding, beam_search, batch, batch_lengths, count,
                              options->beam_size));
    while (s.count > 0)
        RGM_GO(search_step(out, &s));
done:
    rgmi_decoding_close(&s.decoding);
    rgm_free(s.nodes);
    rgm_free(s.sentences);
    rgm_free(s.ids);
    rgm_free(s.parents);
    rgm_free(s.survivors);
    rgm_free(s.order);
    rgm_free(s.top_ids);
    rgm_free(s.top_log_probabilities);
    rgm_free(batch);
    rgm_free(batch_lengths);
    return status;
}

static rgm_status check_source(const rgm_seq2seq *model, int64_t number, const int32_t *ids,
                               int64_t length)
{
    if (length < 1 || length > model->options.max_positions)
        return RGM_FAIL(
            RGM_ERR_DATA,
            "sentence %lld has %lld tokens; from 1 to model.max_positions (%lld) are possible",
            (long long)number, (long long)length, (long long)model->options.max_positions);
    for (int64_t i = 0; i < length; i++)
        if (ids[i] < 0 || ids[i] >= model->source_vocabulary)
            return RGM_FAIL(RGM_ERR_DATA, "sentence %lld: token %lld is %lld, but ids are 0..%lld",
                            (long long)number, (long long)i, (long long)ids[i],
                            (long long)model->source_vocabulary - 1);
    return RGM_OK;
}

typedef struct by_length {
    int64_t length, number;
} by_length;

static int longer_first(const void *a, const void *b)
{
    const by_length *x = a, *y = b;

    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static rgm_status sort_by_length(int64_t *numbers, const int64_t *lengths, int64_t count)
{
    by_length *order;

    RGM_TRY(RGM_NEW(order, count));
    for (int64_t i = 0; i < count; i++)
        order[i] = (by_length){.length = lengths[i], .number = i};
    qsort(order, (size_t)count, sizeof *order, longer_first);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = order[i].number;
    rgm_free(order);
    return RGM_OK;
}

rgm_status rgm_beam_search_run(rgm_hypotheses *out, rgm_beam_search *beam_search,
                               const int32_t *const *sources, const int64_t *lengths, int64_t count,
                               const rgm_beam_search_options *options)
{
    rgm_status status = RGM_OK;
    const rgm_seq2seq *model = rgmi_beam_search_model(beam_search);
    int64_t *numbers = NULL;

    memset(out, 0, (size_t)count * sizeof *out);
    RGM_TRY(rgm_beam_search_check(options, model));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(check_source(model, i, sources[i], lengths[i]));
    RGM_GO(RGM_NEW(numbers, count));
    RGM_GO(sort_by_length(numbers, lengths, count));
    for (int64_t at = 0; at < count; at += options->decode_batch_size) {
        int64_t rest = count - at;
        RGM_GO(search_batch(out, beam_search, sources, lengths, numbers + at,
                            rest < options->decode_batch_size ? rest : options->decode_batch_size,
                            options));
    }
done:
    for (int64_t i = 0; i < count && status != RGM_OK; i++)
        rgm_hypotheses_clear(&out[i]);
    rgm_free(numbers);
    return status;
}
