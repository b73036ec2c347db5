/*
 * Which tokens may follow a hypothesis: what a request has as its beginning, what must not occur,
 * what would repeat, what is too short to end.
 */
#include <math.h>

#include "beam_internal.h"

bool rgmi_token_rules_any(const rgm_beam_search_options *o)
{
    return o->requests != NULL || o->no_repeat_ngram > 0 || o->repetition_penalty > 1 ||
           o->decode_min_length > 0;
}

void rgmi_read_history(rgmi_search *s, int64_t node)
{
    for (int64_t i = s->steps - 1; i >= 0; i--) {
        s->history[i] = s->nodes[node].token;
        node = s->nodes[node].parent;
    }
}

static void mark(rgmi_search *s, int32_t token, uint8_t what)
{
    if (s->marks[token] == 0)
        s->marked[s->marked_count++] = token;
    s->marks[token] |= what;
}

void rgmi_token_rules_unmark(rgmi_search *s)
{
    while (s->marked_count > 0)
        s->marks[s->marked[--s->marked_count]] = 0;
}

static bool ends_with(const int32_t *tokens, int64_t count, const int32_t *end, int64_t end_count)
{
    return count >= end_count &&
           memcmp(tokens + count - end_count, end, (size_t)end_count * sizeof *tokens) == 0;
}

int32_t rgmi_forced_token(const rgmi_search *s, const rgmi_sentence *t)
{
    return t->request != NULL && s->steps < t->request->prefix.count
               ? t->request->prefix.ids[s->steps]
               : -1;
}

/* The last n - 1 tokens stood somewhere before: what followed them there. */
static void mark_repeated_ngrams(rgmi_search *s, int64_t n)
{
    for (int64_t i = 0; i + n <= s->steps; i++)
        if (memcmp(s->history + i, s->history + s->steps - (n - 1),
                   (size_t)(n - 1) * sizeof *s->history) == 0)
            mark(s, s->history[i + n - 1], RGMI_TOKEN_FORBIDDEN);
}

void rgmi_token_rules_mark(rgmi_search *s, const rgmi_sentence *t, const rgmi_beam_leaf *leaf)
{
    const rgm_beam_search_options *o = s->options;
    const rgm_target_request *request = t->request;

    if (o->no_padding)
        mark(s, 0, RGMI_TOKEN_FORBIDDEN);
    if (s->steps < o->decode_min_length || !rgmi_required_done(request, leaf->met))
        mark(s, o->end_id, RGMI_TOKEN_FORBIDDEN);
    for (int64_t i = 0; i < s->steps && o->repetition_penalty > 1; i++)
        mark(s, s->history[i], RGMI_TOKEN_REPEATED);
    if (o->no_repeat_ngram > 0)
        mark_repeated_ngrams(s, o->no_repeat_ngram);
    for (int64_t i = 0; request != NULL && i < request->banned_count; i++) {
        const rgm_token_list *banned = &request->banned[i];
        if (ends_with(s->history, s->steps, banned->ids, banned->count - 1))
            mark(s, banned->ids[banned->count - 1], RGMI_TOKEN_FORBIDDEN);
    }
}

double rgmi_token_value(const rgmi_search *s, const float *logits, int64_t row, int32_t token)
{
    double value = (double)logits[token] - s->log_sums[row];

    return s->marks != NULL && (s->marks[token] & RGMI_TOKEN_REPEATED) != 0
               ? value * s->options->repetition_penalty
               : value;
}

/* The most probable of the tokens that may follow, in the place of those of the whole row. */
static void choose_again(rgmi_search *s, const float *logits, int64_t row)
{
    int64_t *ids = s->top_ids + row * s->top, count = 0;
    float *values = s->top_log_probabilities + row * s->top;

    for (int64_t v = 0; v < s->vocabulary; v++) {
        float value;
        int64_t at;
        if ((s->marks[v] & RGMI_TOKEN_FORBIDDEN) != 0)
            continue;
        value = (float)rgmi_token_value(s, logits, row, (int32_t)v);
        if (count == s->top && !(value > values[count - 1]))
            continue;
        at = count < s->top ? count++ : count - 1;
        for (; at > 0 && values[at - 1] < value; at--) {
            values[at] = values[at - 1];
            ids[at] = ids[at - 1];
        }
        values[at] = value;
        ids[at] = v;
    }
    for (; count < s->top; count++) {
        ids[count] = -1;
        values[count] = -INFINITY;
    }
}

static void force(rgmi_search *s, const float *logits, int64_t row, int32_t token)
{
    float value = (float)((double)logits[token] - s->log_sums[row]);

    for (int64_t i = 0; i < s->top; i++) {
        s->top_ids[row * s->top + i] = i == 0 ? token : -1;
        s->top_log_probabilities[row * s->top + i] = i == 0 ? value : -INFINITY;
    }
}

static void apply_to_row(rgmi_search *s, const rgmi_sentence *t, const rgmi_beam_leaf *leaf,
                         const float *logits, int64_t row)
{
    int32_t forced = rgmi_forced_token(s, t);
    bool touched = false;

    if (forced >= 0) {
        force(s, logits, row, forced);
        return;
    }
    rgmi_read_history(s, leaf->node);
    rgmi_token_rules_mark(s, t, leaf);
    for (int64_t i = 0; i < s->top; i++) /* others cannot come among them: marks only take away */
        touched |= s->marks[s->top_ids[row * s->top + i]] != 0;
    if (touched)
        choose_again(s, logits, row);
    rgmi_token_rules_unmark(s);
}

void rgmi_token_rules_apply(rgmi_search *s, const float *logits)
{
    int64_t padded = rgm_seq2seq_padded(s->vocabulary), size = rgmi_group_size(s);

    for (int64_t i = 0; i < s->count; i++) {
        const rgmi_sentence *t = &s->sentences[i];
        int64_t first = i * rgmi_rows_each(s);
        int64_t groups = rgmi_rows_each(s) == 1 ? 1 : s->options->diversity_groups;
        for (int64_t g = 0; g < groups; g++)
            for (int64_t k = 0; k < t->open_count[g]; k++) {
                int64_t row = first + rgmi_group_row(s, g) + k;
                apply_to_row(s, t, &t->open[g * size + k], logits + row * padded, row);
            }
    }
}
