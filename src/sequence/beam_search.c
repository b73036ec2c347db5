/*
 * Greedy and beam search and sampling, by sentence: which continuations of its open hypotheses go
 * on, which have ended, and when it is done. Tokens are kept as a tree: a hypothesis is a leaf.
 */
#include <math.h>
#include <stdlib.h>

#include "beam_internal.h"

/* ---- hypotheses ---------------------------------------------------------------------------- */

void rgm_hypotheses_clear(rgm_hypotheses *hypotheses)
{
    for (int64_t i = 0; i < hypotheses->count; i++)
        rgm_free(hypotheses->items[i].ids);
    rgm_free(hypotheses->items);
    *hypotheses = (rgm_hypotheses){0};
}

static double penalty(const rgm_beam_search_options *o, int64_t length)
{
    return o->length_penalty == RGM_LENGTH_POWER ? pow((double)length, o->alpha)
                                                 : pow((5 + (double)length) / 6, o->alpha);
}

static rgm_status node_add(int64_t *out, rgmi_search *s, int64_t parent, int32_t token)
{
    RGM_TRY(RGM_RESERVE(s->nodes, s->node_capacity, s->node_count + 1));
    s->nodes[s->node_count] = (rgmi_beam_node){.parent = parent, .token = token};
    *out = s->node_count++;
    return RGM_OK;
}

/* Insert into a list of at most `most`, best first; equal ones stay in the order in which they
 * came. */
static void keep_best(rgmi_beam_leaf *list, int64_t *count, int64_t most, rgmi_beam_leaf item)
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

/* How many hypotheses of earlier groups have chosen a token in this step. */
static int64_t times_chosen(const rgmi_search *s, const rgmi_sentence *t,
                            const rgmi_beam_leaf *chosen, int64_t groups, int32_t token)
{
    int64_t size = rgmi_group_size(s), times = 0;

    for (int64_t g = 0; g < groups; g++)
        for (int64_t k = 0; k < t->open_count[g]; k++)
            times += s->nodes[chosen[g * size + k].node].token == token;
    return times;
}

/*
 * The best `most` continuations of a group's rows, best first; ties to the lower row and token.
 * chosen: what the groups before it have just taken.
 */
static int64_t best_continuations(rgmi_candidate *best, int64_t most, const rgmi_search *s,
                                  const rgmi_sentence *t, int64_t first_row, int64_t group,
                                  int64_t rows, const rgmi_beam_leaf *chosen)
{
    int64_t count = 0, from = rgmi_group_row(s, group);

    for (int64_t beam = 0; beam < rows; beam++) {
        int64_t row = first_row + from + beam;
        double base = t->open[from + beam].log_probability;
        for (int64_t i = 0; i < s->top && s->top_ids[row * s->top + i] >= 0; i++) {
            rgmi_candidate c = {.row = row, .token = (int32_t)s->top_ids[row * s->top + i]};
            int64_t at;
            if (c.token == 0 && s->options->no_padding)
                continue;
            c.log_probability = base + (double)s->top_log_probabilities[row * s->top + i];
            c.choice = c.log_probability;
            if (group > 0)
                c.choice -=
                    s->options->diversity * (double)times_chosen(s, t, chosen, group, c.token);
            if (count == most && !(c.choice > best[most - 1].choice)) {
                if (group > 0)
                    continue; /* what is less probable may be less chosen */
                break;
            }
            at = count < most ? count++ : most - 1;
            for (; at > 0 && best[at - 1].choice < c.choice; at--)
                best[at] = best[at - 1];
            best[at] = c;
        }
    }
    return count;
}

static int by_probability(const void *a, const void *b)
{
    const rgmi_candidate *x = a, *y = b;

    if (x->log_probability != y->log_probability)
        return x->log_probability > y->log_probability ? -1 : 1;
    return x->token - y->token;
}

/* What may follow a sentence's row, most probable first. logits: of that row. */
static int64_t order_allowed(rgmi_search *s, const rgmi_sentence *t, const float *logits,
                             int64_t row)
{
    int64_t count = 0;
    int32_t forced = rgmi_forced_token(s, t);

    if (s->marks != NULL) {
        rgmi_read_history(s, t->open[0].node);
        rgmi_token_rules_mark(s, t, &t->open[0]);
    }
    for (int64_t v = 0; v < s->vocabulary; v++)
        if (forced >= 0        ? v == forced
            : s->marks != NULL ? (s->marks[v] & RGMI_TOKEN_FORBIDDEN) == 0
                               : v > 0 || !s->options->no_padding)
            s->order[count++] =
                (rgmi_candidate){.log_probability = rgmi_token_value(s, logits, row, (int32_t)v),
                                 .token = (int32_t)v};
    rgmi_token_rules_unmark(s);
    qsort(s->order, (size_t)count, sizeof *s->order, by_probability);
    return count;
}

/* One continuation, drawn: temperature, then the k most probable, then the fewest that have top_p.
 */
static int64_t drawn_continuation(rgmi_candidate *out, rgmi_search *s, const rgmi_sentence *t,
                                  const float *logits, int64_t row)
{
    const rgm_beam_search_options *o = s->options;
    int64_t number = o->first_number + (o->numbers != NULL ? o->numbers[t->number] : t->number);
    rgm_rng rng = rgm_rng_stream((uint64_t)o->seed, "sample", (uint64_t)number);
    double draw = rgm_rng_f64(&rng, (uint64_t)s->steps), sum = 0, all = 0;
    int64_t count = order_allowed(s, t, logits + row * rgm_seq2seq_padded(s->vocabulary), row);
    int64_t pick = 0;

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
    if (count == 0)
        return 0;
    *out = s->order[pick];
    out->row = row;
    out->log_probability += t->open[0].log_probability;
    return 1;
}

/* ---- one step ------------------------------------------------------------------------------ */

static bool same_tokens(const rgmi_search *s, int64_t a, int64_t b)
{
    while (a != b && a >= 0 && b >= 0 && s->nodes[a].token == s->nodes[b].token) {
        a = s->nodes[a].parent;
        b = s->nodes[b].parent;
    }
    return a == b;
}

/* Another group may have found it too. */
static bool is_found(const rgmi_search *s, const rgmi_sentence *t, int64_t node)
{
    int64_t size = rgmi_group_size(s), groups = s->options->diversity_groups;

    for (int64_t g = 0; g < groups && groups > 1; g++)
        for (int64_t k = 0; k < t->done_count[g]; k++)
            if (same_tokens(s, t->done[g * size + k].node, node))
                return true;
    return false;
}

static uint64_t met_with(rgmi_search *s, const rgmi_sentence *t, const rgmi_beam_leaf *parent,
                         int32_t token)
{
    if (t->request == NULL || t->request->required_count == 0)
        return 0;
    rgmi_read_history(s, parent->node);
    s->history[s->steps] = token;
    return rgmi_required_met(s, t->request, parent->met, s->steps + 1);
}

/* Whether ends behind the best beam_size continuations do not count. */
static bool ends_early(const rgmi_search *s, const rgmi_sentence *t)
{
    return s->options->end_within_beam && (t->request == NULL || t->request->required_count == 0);
}

/* A group takes its continuations: `next` are those that stay open, *parents their rows. */
static rgm_status take(rgmi_search *s, rgmi_sentence *t, int64_t group, rgmi_beam_leaf *next,
                       const rgmi_candidate *best, int64_t count, int64_t first_row,
                       int64_t *parents)
{
    const rgm_beam_search_options *o = s->options;
    int64_t length = s->steps + 1, open = 0, size = rgmi_group_size(s);

    for (int64_t i = 0; i < count; i++) {
        const rgmi_beam_leaf *parent = &t->open[best[i].row - first_row];
        rgmi_beam_leaf item = {.log_probability = best[i].log_probability, .met = parent->met};
        if (best[i].token == o->end_id && i >= size && ends_early(s, t))
            continue;
        if (best[i].token == o->end_id) {
            item.node = parent->node;
            item.score = item.log_probability / penalty(o, length);
            if (s->coverage != NULL)
                item.score += rgmi_coverage_penalty(s, t, best[i].row);
            if (!is_found(s, t, item.node))
                keep_best(t->done + group * size, &t->done_count[group], size, item);
        } else if (open < size) {
            RGM_TRY(node_add(&item.node, s, parent->node, best[i].token));
            item.score = item.log_probability;
            item.met = met_with(s, t, parent, best[i].token);
            parents[open] = best[i].row;
            next[open++] = item;
        }
    }
    t->open_count[group] = open;
    for (; open < size; open++) /* rows that mean nothing */
        parents[open] = count > 0 ? best[0].row : first_row;
    return RGM_OK;
}

/* A group's worst finished hypothesis is better than what its best open one could become, which
 * need not be the first: diversity has a say in their order. */
static bool is_settled(const rgmi_search *s, const rgmi_sentence *t, int64_t group)
{
    int64_t first = group * rgmi_group_size(s), done = t->done_count[group];
    double best = -INFINITY;

    for (int64_t k = 0; k < t->open_count[group]; k++)
        best = fmax(best, t->open[first + k].log_probability);
    return done > 0 && t->done[first + done - 1].score > best / penalty(s->options, t->longest);
}

/* All groups take theirs, and settled ones close; false: nothing may follow, and the hypotheses
 * stay as they were. */
static rgm_status take_all(bool *goes_on, rgmi_search *s, rgmi_sentence *t, int64_t first_row,
                           const float *logits, int64_t *parents)
{
    const rgm_beam_search_options *o = s->options;
    rgmi_candidate best[2 * RGMI_MOST_BEAMS];
    rgmi_beam_leaf next[RGMI_MOST_BEAMS] = {{0}};
    int64_t before[RGMI_MOST_BEAMS], most = o->beam_size == 1 ? 1 : 2 * rgmi_group_size(s);
    int64_t size = rgmi_group_size(s), taken = 0;

    memcpy(before, t->open_count, sizeof before);
    for (int64_t g = 0; g < o->diversity_groups; g++) {
        int64_t count;
        if (o->sample)
            count = drawn_continuation(best, s, t, logits, first_row);
        else if (t->request != NULL && t->request->required_count > 0)
            count = rgmi_required_continuations(best, s, t, first_row, logits);
        else
            count = best_continuations(best, most, s, t, first_row, g,
                                       before[rgmi_rows_each(s) == 1 ? 0 : g], next);
        RGM_TRY(take(s, t, g, next + g * size, best, count, first_row, parents + g * size));
        taken += count;
    }
    *goes_on = taken > 0;
    if (taken == 0) {
        memcpy(t->open_count, before, sizeof before);
        return RGM_OK;
    }
    memcpy(t->open, next, (size_t)o->beam_size * sizeof *next);
    for (int64_t g = 0; g < o->diversity_groups; g++)
        if (t->open_count[g] > 0 && is_settled(s, t, g))
            t->open_count[g] = 0;
    return RGM_OK;
}

static bool is_open(const rgmi_search *s, const rgmi_sentence *t)
{
    int64_t open = 0;

    for (int64_t g = 0; g < s->options->diversity_groups; g++)
        open += t->open_count[g];
    return open > 0 && s->steps + 1 < t->longest;
}

static rgm_status hypothesis_make(rgm_hypothesis *out, const rgmi_search *s, const rgmi_sentence *t,
                                  const rgmi_beam_leaf *from, bool finished)
{
    int64_t count = 0;

    *out = (rgm_hypothesis){.log_probability = from->log_probability,
                            .score = from->score,
                            .finished = finished,
                            .longest = t->longest};
    for (int64_t i = 0; t->request != NULL && i < t->request->required_count; i++)
        out->missing += (from->met >> i & 1) == 0;
    for (int64_t n = from->node; n >= 0; n = s->nodes[n].parent)
        count++;
    RGM_TRY(RGM_NEW(out->ids, count));
    out->count = count;
    for (int64_t n = from->node; n >= 0; n = s->nodes[n].parent)
        out->ids[--count] = s->nodes[n].token;
    return RGM_OK;
}

/* Finished ones of all groups; those that were cut where no group has any. */
static rgm_status finish(rgm_hypotheses *out, const rgmi_search *s, const rgmi_sentence *t)
{
    int64_t size = rgmi_group_size(s), count = 0;
    rgmi_beam_leaf best[RGMI_MOST_BEAMS];
    bool finished = true;

    for (int64_t g = 0; g < s->options->diversity_groups; g++)
        for (int64_t k = 0; k < t->done_count[g]; k++)
            keep_best(best, &count, RGMI_MOST_BEAMS, t->done[g * size + k]);
    for (int64_t g = 0; g < s->options->diversity_groups && (count == 0 || !finished); g++)
        for (int64_t k = 0; k < t->open_count[g]; k++) {
            keep_best(best, &count, RGMI_MOST_BEAMS, t->open[g * size + k]);
            finished = false;
        }
    if (count > s->options->n_best)
        count = s->options->n_best;
    RGM_TRY(RGM_NEW(out->items, count));
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(hypothesis_make(&out->items[i], s, t, &best[i], finished));
        out->count = i + 1;
    }
    return RGM_OK;
}

/* The newest tokens of a sentence that goes on. */
static void newest_tokens(int32_t *ids, const rgmi_search *s, const rgmi_sentence *t)
{
    int64_t size = rgmi_group_size(s);

    for (int64_t g = 0; g < s->options->diversity_groups; g++)
        for (int64_t k = 0; k < size; k++)
            ids[g * size + k] =
                k < t->open_count[g] ? s->nodes[t->open[g * size + k].node].token : 0;
}

static rgm_status search_step(rgm_hypotheses *out, rgmi_search *s)
{
    const rgm_beam_search_options *o = s->options;
    const float *logits;
    int64_t kept = 0;
    bool goes_on = false;

    RGM_TRY(rgmi_models_step(&logits, s));
    if (s->marks != NULL)
        rgmi_token_rules_apply(s, logits);
    for (int64_t i = 0; i < s->count; i++) {
        rgmi_sentence *t = &s->sentences[i];
        RGM_TRY(take_all(&goes_on, s, t, i * rgmi_rows_each(s), logits,
                         s->parents + kept * o->beam_size));
        if (!goes_on || !is_open(s, t)) {
            RGM_TRY(finish(&out[t->number], s, t));
            continue;
        }
        newest_tokens(s->ids + kept * o->beam_size, s, t);
        s->survivors[kept] = i;
        if (kept != i)
            s->sentences[kept] = *t;
        kept++;
    }
    s->count = kept;
    s->steps++;
    if (kept == 0)
        return RGM_OK;
    return rgmi_models_select(s, kept);
}

/* ---- a batch, all of them ------------------------------------------------------------------ */

/* The fewest positions of the models that decode together. */
static int64_t positions_of(rgm_beam_search *search)
{
    int64_t fewest = rgmi_beam_search_model(search)->options.max_positions;
    rgm_beam_search *member;

    for (int64_t i = 1; (member = rgmi_beam_search_member(search, i)) != NULL; i++) {
        int64_t own = rgmi_beam_search_model(member)->options.max_positions;
        fewest = own < fewest ? own : fewest;
    }
    return fewest;
}

int64_t rgm_beam_search_longest(const rgm_beam_search_options *o, int64_t positions,
                                int64_t source_length)
{
    double longest = o->decode_max_length > 0 ? (double)o->decode_max_length
                                              : o->decode_length_factor * (double)source_length +
                                                    (double)o->extra_decode_length;

    if (longest >= (double)positions)
        return positions;
    return longest > 1 ? (int64_t)longest : 1;
}

/* What a search needs that looks at more than the most probable tokens. */
static rgm_status room_for_logits(rgmi_search *s, int64_t rows)
{
    bool rules = rgmi_token_rules_any(s->options), required = false;
    int64_t longest = 0;

    for (int64_t i = 0; i < s->count; i++) {
        const rgmi_sentence *t = &s->sentences[i];
        required |= t->request != NULL && t->request->required_count > 0;
        longest = t->longest > longest ? t->longest : longest;
    }
    if (s->options->sample)
        RGM_TRY(RGM_NEW(s->order, s->vocabulary));
    if (s->options->sample || rules)
        RGM_TRY(RGM_NEW(s->log_sums, rows));
    if (!rules)
        return RGM_OK;
    RGM_TRY(RGM_NEW(s->marks, s->vocabulary));
    RGM_TRY(RGM_NEW(s->marked, s->vocabulary));
    RGM_TRY(RGM_NEW(s->history, longest + 1));
    return required ? RGM_NEW(s->choices, rgmi_most_choices(s)) : RGM_OK;
}

static void open_sentence(rgmi_sentence *t, int64_t number, int64_t length,
                          const rgm_beam_search_options *options, int64_t positions)
{
    t->number = number;
    t->longest = rgm_beam_search_longest(options, positions, length);
    t->sources = length;
    if (options->requests != NULL)
        t->request = &options->requests[number];
    t->open[0] = (rgmi_beam_leaf){.node = -1};
    t->open_count[0] = 1;
}

/* sentences[i]: number in the caller's list; sources and lengths by that number. */
static rgm_status search_batch(rgm_hypotheses *out, rgm_beam_search *beam_search,
                               const int32_t *const *sources, const int64_t *lengths,
                               const int64_t *numbers, int64_t count,
                               const rgm_beam_search_options *options)
{
    rgm_status status = RGM_OK;
    const rgm_seq2seq *model = rgmi_beam_search_model(beam_search);
    rgmi_search s = {.options = options, .vocabulary = model->target_vocabulary, .count = count};
    const int32_t **batch = NULL, **factors = NULL;
    int64_t *batch_lengths = NULL, rows = count * options->beam_size;

    s.top = rgmi_tokens_looked_at(options);
    RGM_GO(RGM_NEW(batch, count));
    if (options->factors != NULL)
        RGM_GO(RGM_NEW(factors, count));
    RGM_GO(RGM_NEW(batch_lengths, count));
    RGM_GO(RGM_NEW(s.sentences, count));
    RGM_GO(RGM_NEW(s.ids, rows)); /* zeros: what a result begins with */
    RGM_GO(RGM_NEW(s.parents, rows));
    RGM_GO(RGM_NEW(s.survivors, count));
    RGM_GO(RGM_NEW(s.top_ids, rows * s.top));
    RGM_GO(RGM_NEW(s.top_log_probabilities, rows * s.top));
    for (int64_t i = 0; i < count; i++) {
        batch[i] = sources[numbers[i]];
        if (options->begins != NULL)
            s.ids[i] = options->begins[numbers[i]];
        if (factors != NULL)
            factors[i] = options->factors[numbers[i]];
        batch_lengths[i] = lengths[numbers[i]];
        open_sentence(&s.sentences[i], numbers[i], batch_lengths[i], options,
                      positions_of(beam_search));
    }
    RGM_GO(room_for_logits(&s, rows));
    RGM_GO(rgmi_coverage_open(&s, rows));
    RGM_GO(
        rgmi_models_open(&s, beam_search, &(rgmi_sources){batch, factors, batch_lengths, count}));
    while (s.count > 0)
        RGM_GO(search_step(out, &s));
done:
    rgmi_models_close(&s);
    rgmi_coverage_close(&s);
    rgm_free(s.mixed);
    rgm_free(s.nodes);
    rgm_free(s.sentences);
    rgm_free(s.ids);
    rgm_free(s.parents);
    rgm_free(s.survivors);
    rgm_free(s.order);
    rgm_free(s.log_sums);
    rgm_free(s.marks);
    rgm_free(s.marked);
    rgm_free(s.history);
    rgm_free(s.choices);
    rgm_free(s.top_ids);
    rgm_free(s.top_log_probabilities);
    rgm_free(batch);
    rgm_free(factors);
    rgm_free(batch_lengths);
    return status;
}

static rgm_status check_factors(const rgm_seq2seq *model, int64_t number, const int32_t *factors,
                                int64_t length)
{
    for (int64_t i = 0; i < length * model->source_factors; i++)
        if (factors[i] < 0 || factors[i] > model->factor_values)
            return RGM_FAIL(RGM_ERR_DATA,
                            "sentence %lld: a factor of token %lld is %lld, but they are 0..%lld",
                            (long long)number, (long long)(i / model->source_factors),
                            (long long)factors[i], (long long)model->factor_values);
    return RGM_OK;
}

static rgm_status check_source(const rgm_seq2seq *model, int64_t positions, int64_t number,
                               const int32_t *ids, int64_t length)
{
    if (length < 1 || length > positions)
        return RGM_FAIL(
            RGM_ERR_DATA,
            "sentence %lld has %lld tokens; from 1 to model.max_positions (%lld) are possible",
            (long long)number, (long long)length, (long long)positions);
    for (int64_t i = 0; i < length; i++)
        if (ids[i] < 0 || ids[i] >= model->source_vocabulary)
            return RGM_FAIL(RGM_ERR_DATA, "sentence %lld: token %lld is %lld, but ids are 0..%lld",
                            (long long)number, (long long)i, (long long)ids[i],
                            (long long)model->source_vocabulary - 1);
    return RGM_OK;
}

static rgm_status check_tokens(const rgm_seq2seq *model, const rgm_beam_search_options *o,
                               int64_t number, const char *what, const rgm_token_list *list)
{
    if (list->count < 1)
        return RGM_FAIL(RGM_ERR_DATA, "sentence %lld: a %s list without tokens", (long long)number,
                        what);
    for (int64_t i = 0; i < list->count; i++)
        if (list->ids[i] < 0 || list->ids[i] >= model->target_vocabulary ||
            list->ids[i] == o->end_id)
            return RGM_FAIL(RGM_ERR_DATA,
                            "sentence %lld: %s token %lld is %lld, but ids are 0..%lld, without "
                            "the end (%lld)",
                            (long long)number, what, (long long)i, (long long)list->ids[i],
                            (long long)model->target_vocabulary - 1, (long long)o->end_id);
    return RGM_OK;
}

static rgm_status check_request(const rgm_seq2seq *model, int64_t positions,
                                const rgm_beam_search_options *o, int64_t number,
                                int64_t source_length)
{
    const rgm_target_request *r = &o->requests[number];
    int64_t longest = rgm_beam_search_longest(o, positions, source_length),
            needed = r->prefix.count;

    if (r->prefix.count > 0)
        RGM_TRY(check_tokens(model, o, number, "prefix", &r->prefix));
    for (int64_t i = 0; i < r->banned_count; i++)
        RGM_TRY(check_tokens(model, o, number, "banned", &r->banned[i]));
    if (r->required_count > RGM_MOST_REQUIRED)
        return RGM_FAIL(RGM_ERR_DATA, "sentence %lld: %lld required lists; at most %d are possible",
                        (long long)number, (long long)r->required_count, RGM_MOST_REQUIRED);
    for (int64_t i = 0; i < r->required_count; i++) {
        RGM_TRY(check_tokens(model, o, number, "required", &r->required[i]));
        needed = needed > r->required[i].count ? needed : r->required[i].count;
    }
    if (r->required_count > 0 && (o->beam_size == 1 || o->diversity_groups > 1))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "sentence %lld has required tokens: they need task.search.beam_size of 2 "
                        "at least and diversity_groups: 1",
                        (long long)number);
    if (needed >= longest)
        return RGM_FAIL(RGM_ERR_DATA,
                        "sentence %lld: %lld tokens are asked for, but a result has at most %lld",
                        (long long)number, (long long)needed, (long long)longest - 1);
    return RGM_OK;
}

static rgm_status check_begin(const rgm_seq2seq *model, int64_t number, int32_t begin)
{
    if (begin < 0 || begin >= model->target_vocabulary)
        return RGM_FAIL(
            RGM_ERR_DATA, "sentence %lld: a result begins with %lld, but ids are 0..%lld",
            (long long)number, (long long)begin, (long long)model->target_vocabulary - 1);
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

rgm_status rgm_longest_first(int64_t *numbers, const int64_t *lengths, int64_t count)
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

int64_t rgmi_beam_batch(const rgm_beam_search_options *o, int64_t longest, int64_t rest)
{
    int64_t most = o->decode_batch_size;

    if (o->decode_batch_tokens > 0 && o->decode_batch_tokens / longest < most)
        most = o->decode_batch_tokens > longest ? o->decode_batch_tokens / longest : 1;
    return rest < most ? rest : most;
}

rgm_status rgm_beam_search_run(rgm_hypotheses *out, rgm_beam_search *beam_search,
                               const int32_t *const *sources, const int64_t *lengths, int64_t count,
                               const rgm_beam_search_options *options)
{
    rgm_status status = RGM_OK;
    const rgm_seq2seq *model = rgmi_beam_search_model(beam_search);
    int64_t *numbers = NULL, positions = positions_of(beam_search);
    rgm_beam_search *member;

    memset(out, 0, (size_t)count * sizeof *out);
    RGM_TRY(rgm_beam_search_check(options, model));
    if ((options->factors != NULL) != (model->source_factors > 0))
        return RGM_FAIL(RGM_ERR_ARG, "a model of %lld factors is given %s",
                        (long long)model->source_factors,
                        options->factors != NULL ? "some" : "none");
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(check_source(model, positions, i, sources[i], lengths[i]));
        if (options->factors != NULL)
            RGM_TRY(check_factors(model, i, options->factors[i], lengths[i]));
        if (options->begins != NULL)
            RGM_TRY(check_begin(model, i, options->begins[i]));
    }
    for (int64_t i = 0; i < count && options->requests != NULL; i++)
        RGM_TRY(check_request(model, positions, options, i, lengths[i]));
    if (options->shortlist != NULL && rgmi_beam_search_member(beam_search, 1) != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "a shortlist goes with one model, not with several");
    for (int64_t i = 0; (member = rgmi_beam_search_member(beam_search, i)) != NULL; i++)
        RGM_TRY(rgmi_beam_search_ready(member, options));
    RGM_GO(RGM_NEW(numbers, count));
    RGM_GO(rgm_longest_first(numbers, lengths, count));
    for (int64_t at = 0, batch; at < count; at += batch) {
        batch = rgmi_beam_batch(options, lengths[numbers[at]], count - at);
        RGM_GO(search_batch(out, beam_search, sources, lengths, numbers + at, batch, options));
    }
done:
    for (int64_t i = 0; i < count && status != RGM_OK; i++)
        rgm_hypotheses_clear(&out[i]);
    rgm_free(numbers);
    return status;
}
