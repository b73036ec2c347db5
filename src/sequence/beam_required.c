/*
 * Results that must have some tokens: dynamic beam allocation (Post and Vilar 2018). Hypotheses are
 * in banks by how many of the required tokens they have, and each bank gets its share of the beams.
 */
#include <stdlib.h>

#include "beam_internal.h"

/* How many tokens of the list the history [0, length) ends with, short of all of them. */
static int64_t progress_of(const rgmi_search *s, int64_t length, const rgm_token_list *list)
{
    int64_t most = list->count - 1 < length ? list->count - 1 : length;

    for (int64_t n = most; n > 0; n--)
        if (memcmp(s->history + length - n, list->ids, (size_t)n * sizeof *list->ids) == 0)
            return n;
    return 0;
}

uint64_t rgmi_required_met(const rgmi_search *s, const rgm_target_request *request, uint64_t met,
                           int64_t length)
{
    for (int64_t i = 0; i < request->required_count; i++) {
        const rgm_token_list *list = &request->required[i];
        if (length >= list->count && memcmp(s->history + length - list->count, list->ids,
                                            (size_t)list->count * sizeof *list->ids) == 0)
            met |= (uint64_t)1 << i;
    }
    return met;
}

/* The required tokens that a hypothesis has: of lists that are complete, and of the one that it is
 * farthest in. */
static int64_t bank_of(const rgmi_search *s, const rgm_target_request *request, uint64_t met,
                       int64_t length)
{
    int64_t tokens = 0, farthest = 0;

    for (int64_t i = 0; i < request->required_count; i++) {
        const rgm_token_list *list = &request->required[i];
        int64_t progress;
        if ((met >> i & 1) != 0) {
            tokens += list->count;
            continue;
        }
        progress = progress_of(s, length, list);
        farthest = progress > farthest ? progress : farthest;
    }
    return tokens + farthest;
}

/* ---- what is chosen among ---- */

int64_t rgmi_most_choices(const rgmi_search *s)
{
    return s->options->beam_size * (s->top + RGM_MOST_REQUIRED);
}

/* Add a continuation of the hypothesis that s->history has, unless the row has it already. */
static int64_t add_choice(rgmi_search *s, const rgm_target_request *request, int64_t count,
                          int64_t first, const rgmi_beam_leaf *leaf,
                          const rgmi_candidate *candidate)
{
    int64_t length = s->steps + 1;
    uint64_t met;

    for (int64_t i = first; i < count; i++)
        if (s->choices[i].candidate.token == candidate->token)
            return count;
    s->history[s->steps] = candidate->token;
    met = rgmi_required_met(s, request, leaf->met, length);
    s->choices[count] =
        (rgmi_bank_choice){.candidate = *candidate, .bank = bank_of(s, request, met, length)};
    return count + 1;
}

/* A row's most probable tokens, and the next one of every list that is not complete. */
static int64_t add_row(rgmi_search *s, const rgmi_sentence *t, int64_t count,
                       const rgmi_beam_leaf *leaf, int64_t row, const float *logits)
{
    const rgm_target_request *request = t->request;
    int64_t first = count;

    rgmi_read_history(s, leaf->node);
    for (int64_t i = 0; i < s->top && s->top_ids[row * s->top + i] >= 0; i++) {
        double sum = leaf->log_probability + (double)s->top_log_probabilities[row * s->top + i];
        rgmi_candidate c = {.log_probability = sum,
                            .choice = sum,
                            .row = row,
                            .token = (int32_t)s->top_ids[row * s->top + i]};
        count = add_choice(s, request, count, first, leaf, &c);
    }
    if (rgmi_forced_token(s, t) >= 0)
        return count;
    rgmi_token_rules_mark(s, t, leaf);
    for (int64_t i = 0; i < request->required_count; i++) {
        const rgm_token_list *wanted = &request->required[i];
        int32_t next = wanted->ids[progress_of(s, s->steps, wanted)];
        rgmi_candidate c = {.row = row, .token = next};
        if ((leaf->met >> i & 1) != 0 || (s->marks[next] & RGMI_TOKEN_FORBIDDEN) != 0)
            continue;
        c.log_probability = leaf->log_probability + rgmi_token_value(s, logits, row, next);
        c.choice = c.log_probability;
        count = add_choice(s, request, count, first, leaf, &c);
    }
    rgmi_token_rules_unmark(s);
    return count;
}

/* ---- the choice ---- */

static int by_probability(const rgmi_candidate *x, const rgmi_candidate *y)
{
    if (x->log_probability != y->log_probability)
        return x->log_probability > y->log_probability ? -1 : 1;
    return x->row != y->row ? (x->row < y->row ? -1 : 1) : x->token - y->token;
}

static int fuller_bank_first(const void *a, const void *b)
{
    const rgmi_bank_choice *x = a, *y = b;

    if (x->bank != y->bank)
        return x->bank > y->bank ? -1 : 1;
    return by_probability(&x->candidate, &y->candidate);
}

static int taken_first(const void *a, const void *b)
{
    const rgmi_bank_choice *x = a, *y = b;

    if (x->taken != y->taken)
        return x->taken ? -1 : 1;
    return by_probability(&x->candidate, &y->candidate);
}

/* Each bank gets its share of the beams, the fullest also what the division leaves; what a bank
 * cannot use goes to the fullest that can. Ends need no beam. */
static void share_out(rgmi_search *s, int64_t count, int64_t banks)
{
    int64_t beams = s->options->beam_size, left = beams, used = 0, place = 0;

    for (int64_t i = 0; i < count; i++) {
        rgmi_bank_choice *c = &s->choices[i];
        int64_t share = beams / banks + (c->bank == banks - 1 ? beams % banks : 0);
        if (i == 0 || c->bank != c[-1].bank)
            used = place = 0;
        place++;
        if (c->candidate.token == s->options->end_id) {
            c->taken = place <= 2 * beams;
        } else if (used < share) {
            c->taken = true;
            used++;
            left--;
        }
    }
    for (int64_t i = 0; i < count && left > 0; i++)
        if (!s->choices[i].taken && s->choices[i].candidate.token != s->options->end_id) {
            s->choices[i].taken = true;
            left--;
        }
}

int64_t rgmi_required_continuations(rgmi_candidate *best, rgmi_search *s, const rgmi_sentence *t,
                                    int64_t first_row, const float *logits)
{
    int64_t count = 0, taken = 0, banks = 1, padded = rgm_seq2seq_padded(s->vocabulary);

    for (int64_t i = 0; i < t->request->required_count; i++)
        banks += t->request->required[i].count;
    for (int64_t k = 0; k < t->open_count[0]; k++)
        count = add_row(s, t, count, &t->open[k], first_row + k, logits + (first_row + k) * padded);
    qsort(s->choices, (size_t)count, sizeof *s->choices, fuller_bank_first);
    share_out(s, count, banks);
    qsort(s->choices, (size_t)count, sizeof *s->choices, taken_first);
    while (taken < count && taken < 2 * s->options->beam_size && s->choices[taken].taken) {
        best[taken] = s->choices[taken].candidate;
        taken++;
    }
    return taken;
}
