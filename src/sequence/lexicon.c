/*
 * Which target token translates a source token, and which of a pair goes with which: IBM's model 1
 * (Brown et al. 1993) learned by EM; with a diagonal, places that are alike count more, as in
 * fast_align (Dyer et al. 2013).
 */
#include <math.h>

#include "sequence_internal.h"

enum { ROUNDS = 5 };
static const double EMPTY = 0.08; /* of a target token that the empty source word made it, with a
                                     diagonal: fast_align's */

void rgmi_lexicon_clear(rgmi_lexicon *l)
{
    rgm_free(l->start);
    rgm_free(l->target);
    rgm_free(l->p);
    rgm_free(l->share);
    rgm_free(l->empty_p);
    rgm_free(l->empty_share);
    rgm_free(l->frequency);
}

static rgm_status check_side(const int32_t *ids, int64_t count, int64_t vocabulary, int64_t pair,
                             const char *side)
{
    for (int64_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= vocabulary)
            return RGM_FAIL(RGM_ERR_DATA, "pair %lld: the %s has the id %lld, but ids are 0..%lld",
                            (long long)pair, side, (long long)ids[i], (long long)vocabulary - 1);
    return RGM_OK;
}

static rgm_status check_pairs(const rgmi_lexicon *l)
{
    if (l->count < 1 || l->sources < 1 || l->targets < 2 || l->sources > INT32_MAX ||
        l->targets > INT32_MAX)
        return RGM_FAIL(RGM_ERR_ARG, "%s learned from pairs and two vocabularies", l->what);
    for (int64_t i = 0; i < l->count; i++) {
        const rgm_sequence_pair *pair = &l->pairs[i];
        RGM_TRY(check_side(pair->source, pair->source_count, l->sources, i, "source"));
        RGM_TRY(check_side(pair->target, pair->target_count, l->targets, i, "target"));
    }
    return RGM_OK;
}

/* Pairs that each source token stands in: numbers [start[s]..start[s + 1]), a pair as often as the
 * token. */
static rgm_status find_occurrences(int64_t **start, int64_t **where, const rgmi_lexicon *l)
{
    int64_t sum = 0;

    RGM_TRY(RGM_NEW(*start, l->sources + 1));
    for (int64_t i = 0; i < l->count; i++)
        for (int64_t k = 0; k < l->pairs[i].source_count; k++, sum++)
            (*start)[l->pairs[i].source[k]]++;
    RGM_TRY(RGM_NEW(*where, sum));
    for (int64_t s = 0; s < l->sources; s++) {
        sum = (s > 0 ? (*start)[s - 1] : 0) + (*start)[s];
        (*start)[s] = sum;
    }
    (*start)[l->sources] = sum;
    for (int64_t i = l->count - 1; i >= 0; i--)
        for (int64_t k = 0; k < l->pairs[i].source_count; k++)
            (*where)[--(*start)[l->pairs[i].source[k]]] = i;
    return RGM_OK;
}

/* The targets of one source token, ascending, behind those that are there. seen [targets]: all
 * false before and after. */
static rgm_status add_targets(rgmi_lexicon *l, bool *seen, const int64_t *where, int64_t count)
{
    int64_t found = 0;

    for (int64_t k = 0; k < count; k++) {
        const rgm_sequence_pair *pair = &l->pairs[where[k]];
        for (int64_t j = 0; j < pair->target_count; j++) {
            found += !seen[pair->target[j]];
            seen[pair->target[j]] = true;
        }
    }
    RGM_TRY(RGM_RESERVE(l->target, l->target_room, l->entries + found));
    for (int64_t e = 0; e < l->targets && found > 0; e++)
        if (seen[e]) {
            seen[e] = false;
            l->target[l->entries++] = (int32_t)e;
            found--;
        }
    return RGM_OK;
}

static rgm_status open_table(rgmi_lexicon *l)
{
    rgm_status status = RGM_OK;
    int64_t *occurrences = NULL, *where = NULL;
    bool *seen = NULL;

    RGM_GO(RGM_NEW(seen, l->targets));
    RGM_GO(RGM_NEW(l->start, l->sources + 1));
    RGM_GO(RGM_NEW(l->empty_p, l->targets));
    RGM_GO(RGM_NEW(l->empty_share, l->targets));
    RGM_GO(RGM_NEW(l->frequency, l->targets));
    RGM_GO(find_occurrences(&occurrences, &where, l));
    for (int64_t s = 0; s < l->sources; s++) {
        l->start[s] = l->entries;
        RGM_GO(add_targets(l, seen, where + occurrences[s], occurrences[s + 1] - occurrences[s]));
    }
    l->start[l->sources] = l->entries;
    RGM_GO(RGM_NEW(l->p, l->entries));
    RGM_GO(RGM_NEW(l->share, l->entries));
    for (int64_t s = 0; s < l->sources; s++)
        for (int64_t i = l->start[s]; i < l->start[s + 1]; i++)
            l->p[i] = 1 / (float)(l->start[s + 1] - l->start[s]);
    for (int64_t e = 0; e < l->targets; e++)
        l->empty_p[e] = 1 / (float)l->targets;
    for (int64_t i = 0; i < l->count; i++)
        for (int64_t j = 0; j < l->pairs[i].target_count; j++)
            l->frequency[l->pairs[i].target[j]]++;
done:
    rgm_free(occurrences);
    rgm_free(where);
    rgm_free(seen);
    return status;
}

/* Where the target stands among those of a source token, one of which it is. */
static int64_t entry_of(const rgmi_lexicon *l, int32_t source, int32_t target)
{
    int64_t low = l->start[source], high = l->start[source + 1];

    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (l->target[middle] <= target)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double rgmi_lexicon_likely(float *likely, float *empty, int64_t *entries, const rgmi_lexicon *l,
                           const rgm_sequence_pair *pair, int64_t j)
{
    int64_t sources = pair->source_count;
    int32_t e = pair->target[j];
    double at = (double)(j + 1) / (double)pair->target_count, norm = 0;
    float sum;

    for (int64_t k = 0; k < sources && l->diagonal > 0; k++) {
        double place = (double)(k + 1) / (double)sources;
        likely[k] = (float)exp(-l->diagonal * fabs(at - place));
        norm += (double)likely[k];
    }
    *empty = l->empty_p[e] * (l->diagonal > 0 ? (float)EMPTY : 1);
    sum = *empty;
    for (int64_t k = 0; k < sources; k++) {
        float prior = l->diagonal > 0 ? (float)((1 - EMPTY) * (double)likely[k] / norm) : 1;
        entries[k] = entry_of(l, pair->source[k], e);
        likely[k] = prior * l->p[entries[k]];
        sum += likely[k];
    }
    return (double)sum;
}

/* What each source token has of each target token; likely and entries [source_count] are room. */
static void count_pair(rgmi_lexicon *l, const rgm_sequence_pair *pair, float *likely,
                       int64_t *entries)
{
    for (int64_t j = 0; j < pair->target_count; j++) {
        float empty, sum = (float)rgmi_lexicon_likely(likely, &empty, entries, l, pair, j);

        if (!(sum > 0))
            continue;
        for (int64_t k = 0; k < pair->source_count; k++)
            l->share[entries[k]] += likely[k] / sum;
        l->empty_share[pair->target[j]] += empty / sum;
    }
}

/* Shares of one source word become probabilities, and are zeros again. */
static void normalize(float *p, float *share, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += share[i];
    for (int64_t i = 0; i < count; i++) {
        p[i] = sum > 0 ? (float)(share[i] / sum) : 0;
        share[i] = 0;
    }
}

int64_t rgmi_lexicon_longest(const rgmi_lexicon *l)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < l->count; i++)
        longest = l->pairs[i].source_count > longest ? l->pairs[i].source_count : longest;
    return longest;
}

static rgm_status train(rgmi_lexicon *l)
{
    rgm_status status = RGM_OK;
    int64_t longest = rgmi_lexicon_longest(l), *entries = NULL;
    float *likely = NULL;

    RGM_GO(RGM_NEW(entries, longest));
    RGM_GO(RGM_NEW(likely, longest));
    for (int round = 0; round < ROUNDS; round++) {
        for (int64_t i = 0; i < l->count; i++)
            count_pair(l, &l->pairs[i], likely, entries);
        for (int64_t s = 0; s < l->sources; s++)
            normalize(l->p + l->start[s], l->share + l->start[s], l->start[s + 1] - l->start[s]);
        normalize(l->empty_p, l->empty_share, l->targets);
    }
done:
    rgm_free(entries);
    rgm_free(likely);
    return status;
}

rgm_status rgmi_lexicon_learn(rgmi_lexicon *l)
{
    RGM_TRY(check_pairs(l));
    RGM_TRY(open_table(l));
    return train(l);
}
