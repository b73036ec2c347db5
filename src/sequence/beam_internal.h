/*
 * What the files of the search over tokens share: hypotheses under way, and what may continue them.
 */
#ifndef RGM_BEAM_INTERNAL_H
#define RGM_BEAM_INTERNAL_H

#include "sequence_internal.h"

/** A token behind its parent (-1: the first). */
typedef struct rgmi_beam_node {
    int64_t parent;
    int32_t token;
} rgmi_beam_node;

/** A hypothesis. */
typedef struct rgmi_beam_leaf {
    int64_t node; /* of its last token; -1: nothing yet */
    double log_probability, score;
    uint64_t met; /* bit i: it has list i of what is required */
} rgmi_beam_leaf;

/** A continuation of an open hypothesis. */
typedef struct rgmi_candidate {
    double log_probability;
    double choice; /* by which it is chosen: the log-probability, less what diversity takes off */
    int64_t row;   /* of the batch */
    int32_t token;
} rgmi_candidate;

/** A sentence of the batch. Its beams are slots, `beam_size / diversity_groups` in each group. */
typedef struct rgmi_sentence {
    int64_t number;                    /* in the caller's list */
    int64_t longest;                   /* tokens of a translation at most */
    int64_t sources;                   /* tokens of its source */
    const rgm_target_request *request; /* or NULL */
    /* Slots of the groups one behind the other; by group, how many are in use. In each the best is
     * first: of what is done by score, of what is open by what it was chosen by. */
    rgmi_beam_leaf open[RGMI_MOST_BEAMS], done[RGMI_MOST_BEAMS];
    int64_t open_count[RGMI_MOST_BEAMS], done_count[RGMI_MOST_BEAMS];
} rgmi_sentence;

typedef struct rgmi_search {
    const rgm_beam_search_options *options;
    rgmi_decoding decodings[RGM_MOST_MODELS]; /* of each model; all have the same rows */
    int64_t models;
    int64_t vocabulary, steps;
    rgmi_beam_node *nodes;
    int64_t node_count, node_capacity;
    rgmi_sentence *sentences; /* those under way, in the batch's order */
    int64_t count;
    int32_t *ids; /* [rows] newest tokens */
    int64_t *parents, *survivors;
    rgmi_candidate *order; /* [vocabulary] for sampling */
    int64_t top;           /* continuations of a row that are looked at */
    int64_t *top_ids;      /* [rows, top], most probable first; -1: there are no more */
    float *top_log_probabilities;
    float *mixed;     /* [rows, padded vocabulary] logarithms of the models' mean probabilities */
    double *log_sums; /* [rows] the logarithm of the sum of exponentials, where logits are read */
    /* Where coverage counts: what the tokens of each row, and the one behind them, attended to. */
    double *coverage, *spare_coverage; /* [rows, width], NULL: it does not count */
    int64_t coverage_width;            /* tokens of the batch's longest source   */
    /* for rows with rules: */
    uint8_t *marks;  /* [vocabulary] of the row that is looked at: RGMI_TOKEN_FORBIDDEN,
                        RGMI_TOKEN_REPEATED */
    int32_t *marked; /* [vocabulary] the tokens with marks, so that they can be cleared */
    int64_t marked_count;
    int32_t *history;                 /* tokens of a hypothesis, with room for one more */
    struct rgmi_bank_choice *choices; /* of a sentence with required lists */
} rgmi_search;
enum { RGMI_TOKEN_FORBIDDEN = 1, RGMI_TOKEN_REPEATED = 2 };

/** Rows of a sentence: one before its first token, then its beams. */
static inline int64_t rgmi_rows_each(const rgmi_search *s)
{
    return s->decodings[0].beams;
}
static inline int64_t rgmi_group_size(const rgmi_search *s)
{
    return s->options->beam_size / s->options->diversity_groups;
}
/** The rows of a group's hypotheses begin there, counted from the sentence's first; before the
 * first token all groups have that one row. */
static inline int64_t rgmi_group_row(const rgmi_search *s, int64_t group)
{
    return rgmi_rows_each(s) == 1 ? 0 : group * rgmi_group_size(s);
}

/** How many tokens of a row the search looks at: greedy search ends where its best one does, and
 * what is left out takes the place of one. */
static inline int64_t rgmi_tokens_looked_at(const rgm_beam_search_options *o)
{
    return (o->beam_size == 1 ? 1 : 2 * o->beam_size) + o->no_padding;
}

/* ---- beam_models.c: one model or several that decode together ---- */

/** Encode sources by every model of the search; as rgmi_decoding_open(). */
rgm_status rgmi_models_open(rgmi_search *s, rgm_beam_search *search, const rgmi_sources *sources);
void rgmi_models_close(rgmi_search *s);
/** One more token for each row: top_ids and top_log_probabilities, and where there are log_sums
 * those and *logits, borrowed until the next step; NULL otherwise. */
rgm_status rgmi_models_step(const float **logits, rgmi_search *s);
/** What goes on; as rgmi_decoding_select(). */
rgm_status rgmi_models_select(rgmi_search *s, int64_t count);

/* ---- beam_coverage.c: how much of its source a hypothesis has attended to ---- */

/** Room for rows of a batch, where coverage counts. RGM_ERR_NOMEM. */
rgm_status rgmi_coverage_open(rgmi_search *s, int64_t rows);
void rgmi_coverage_close(rgmi_search *s);
/** Behind a step: what its tokens attended to, the mean of the models, is added. */
rgm_status rgmi_coverage_step(rgmi_search *s);
/** What a hypothesis that ends behind a row's tokens gets: 0 or less. */
double rgmi_coverage_penalty(const rgmi_search *s, const rgmi_sentence *t, int64_t row);
/** `count` rows go on: row k takes over from row parents[k]. */
void rgmi_coverage_select(rgmi_search *s, const int64_t *parents, int64_t count);

/* ---- beam_rules.c: which tokens may follow ---- */

/** Whether anything but the model decides which tokens may follow: marks, marked and history are
 * there then. */
bool rgmi_token_rules_any(const rgm_beam_search_options *options);
/** Tokens of a hypothesis, s->history [0, s->steps): all hypotheses under way have as many. */
void rgmi_read_history(rgmi_search *s, int64_t node);
/** Mark what may not follow a hypothesis, whose tokens s->history has, and what it has already. */
void rgmi_token_rules_mark(rgmi_search *s, const rgmi_sentence *t, const rgmi_beam_leaf *leaf);
void rgmi_token_rules_unmark(rgmi_search *s);
/** The only token that may follow now, or -1. */
int32_t rgmi_forced_token(const rgmi_search *s, const rgmi_sentence *t);
/** A token's log-probability in a row, with the penalty of repetition; logits: of that row. */
double rgmi_token_value(const rgmi_search *s, const float *logits, int64_t row, int32_t token);
/** Behind a step: top_ids and top_log_probabilities of all rows without what may not follow.
 * logits: of all rows. */
void rgmi_token_rules_apply(rgmi_search *s, const float *logits);

/* ---- beam_required.c: results that must have some tokens ---- */

/** A continuation and the required tokens that its hypothesis has with it. */
typedef struct rgmi_bank_choice {
    rgmi_candidate candidate;
    int64_t bank;
    bool taken;
} rgmi_bank_choice;
/** How many there can be of a sentence. */
int64_t rgmi_most_choices(const rgmi_search *s);
/** `met` after the tokens s->history [0, length). */
uint64_t rgmi_required_met(const rgmi_search *s, const rgm_target_request *request, uint64_t met,
                           int64_t length);
static inline bool rgmi_required_done(const rgm_target_request *request, uint64_t met)
{
    return request == NULL || met == ((uint64_t)1 << request->required_count) - 1;
}
/**
 * The continuations of a sentence with required lists, best first: those that end, and of the
 * others at most beam_size, shared out among banks. logits: of all rows.
 */
int64_t rgmi_required_continuations(rgmi_candidate *best, rgmi_search *s, const rgmi_sentence *t,
                                    int64_t first_row, const float *logits);

#endif
