/*
 * The search of TER. Finding the least number of edits with shifts is NP-hard, so a score is
 * defined by the search that finds it; ours takes the decisions of Tercom as sacrebleu does: a beam
 * about the diagonal of the edit distance, the same shifts in the same order of preference, the
 * same limits.
 *
 * Our own part is how to try a shift. A shift changes few words. So only the rows of the distance
 * matrix from the first changed word on are computed again, and only until a row after the last
 * changed word differs from the old one by a constant: then all following rows do too. Only the
 * part of a row inside the beam is kept, so memory is linear in the two lengths.
 */
#include "mt_internal.h"

#include <math.h>
#include <string.h>

enum {
    LONGEST_SHIFT = 10,  /* words                                */
    FARTHEST_SHIFT = 50, /* words between the two places         */
    MOST_CANDIDATES = 1000,
    BEAM = 25, /* cells to either side of the diagonal */
    UNREACHED = INT32_MAX / 2
};

/* How a cell was best reached. */
enum { KEEP_OR_REPLACE, DELETE_WORD, INSERT_WORD };

/* A row of the matrix: cells first..end-1; cell j is the distance to the reference's first j words.
 */
typedef struct row {
    int64_t first, end;
    int32_t *costs; /* [end - first] */
    uint8_t *steps; /* [end - first], NULL where only costs are asked for */
} row;

struct rgmi_ter_work {
    const int32_t *reference;
    int32_t *words, *shifted; /* [length]: the hypothesis as shifted so far, and a candidate */
    int64_t length, reference_length;
    row *rows; /* [length + 1] */
    row scratch[2];
    int32_t *costs;
    uint8_t *steps;
    int64_t *aligned; /* [reference_length]: the hypothesis' word before which to insert, - 1 */
    bool *word_wrong; /* [length]           */
    bool *reference_wrong; /* [reference_length] */
    int64_t words_capacity, shifted_capacity, rows_capacity, costs_capacity, steps_capacity;
    int64_t scratch_capacity[2], aligned_capacity, word_wrong_capacity, reference_wrong_capacity;
};

/* Words [start, start + length) go to before word `target`: words [low, high) change. */
typedef struct shift {
    int64_t start, length, target;
    int64_t gain; /* in distance */
    int64_t low, high;
} shift;

rgm_status rgmi_ter_work_create(rgmi_ter_work **out)
{
    return RGM_NEW(*out, 1);
}

void rgmi_ter_work_release(rgmi_ter_work *work)
{
    if (work == NULL)
        return;
    rgm_free(work->words);
    rgm_free(work->shifted);
    rgm_free(work->rows);
    rgm_free(work->costs);
    rgm_free(work->steps);
    rgm_free(work->aligned);
    rgm_free(work->word_wrong);
    rgm_free(work->reference_wrong);
    rgm_free(work->scratch[0].costs);
    rgm_free(work->scratch[1].costs);
    rgm_free(work);
}

/* ---- the distance matrix --------------------------------------------------------------------- */

static int64_t beam_width(double ratio)
{
    return ratio / 2 > BEAM ? (int64_t)ceil(ratio / 2 + BEAM) : BEAM;
}

/* The cells of row i that are within the beam; all at row 0, all to the right at the last row. */
static void set_extent(row *r, const rgmi_ter_work *work, int64_t i)
{
    double ratio = (double)work->reference_length / (double)work->length;
    int64_t width = beam_width(ratio), all = work->reference_length + 1, diagonal;

    r->first = 0;
    r->end = all;
    if (i == 0)
        return;
    diagonal = (int64_t)floor((double)i * ratio);
    if (diagonal - width > 0)
        r->first = diagonal - width;
    if (i < work->length && diagonal + width < all)
        r->end = diagonal + width;
}

static rgm_status reserve(rgmi_ter_work *work, int64_t length, int64_t reference_length)
{
    int64_t cells = 0, widest = reference_length + 1;

    work->length = length;
    work->reference_length = reference_length;
    RGM_TRY(RGM_RESERVE(work->words, work->words_capacity, length));
    RGM_TRY(RGM_RESERVE(work->shifted, work->shifted_capacity, length));
    RGM_TRY(RGM_RESERVE(work->aligned, work->aligned_capacity, reference_length));
    RGM_TRY(RGM_RESERVE(work->word_wrong, work->word_wrong_capacity, length));
    RGM_TRY(RGM_RESERVE(work->reference_wrong, work->reference_wrong_capacity, reference_length));
    RGM_TRY(RGM_RESERVE(work->rows, work->rows_capacity, length + 1));
    for (int64_t i = 0; i <= length; i++) {
        set_extent(&work->rows[i], work, i);
        cells += work->rows[i].end - work->rows[i].first;
    }
    RGM_TRY(RGM_RESERVE(work->costs, work->costs_capacity, cells));
    RGM_TRY(RGM_RESERVE(work->steps, work->steps_capacity, cells));
    cells = 0;
    for (int64_t i = 0; i <= length; i++) {
        work->rows[i].costs = work->costs + cells;
        work->rows[i].steps = work->steps + cells;
        cells += work->rows[i].end - work->rows[i].first;
    }
    for (int i = 0; i < 2; i++)
        RGM_TRY(RGM_RESERVE(work->scratch[i].costs, work->scratch_capacity[i], widest));
    return RGM_OK;
}

static int32_t cost_at(const row *r, int64_t j)
{
    return j >= r->first && j < r->end ? r->costs[j - r->first] : UNREACHED;
}

/*
 * One row from the row before it. Of equal costs a kept or replaced word is preferred, then a
 * deleted one, then an inserted one.
 */
static void fill_row(row *r, const row *before, int32_t word, const int32_t *reference)
{
    int32_t left = UNREACHED, diagonal = cost_at(before, r->first - 1);

    for (int64_t j = r->first; j < r->end; j++) {
        int32_t above = cost_at(before, j), best = UNREACHED;
        uint8_t step = KEEP_OR_REPLACE;

        if (j > 0)
            best = diagonal + (word != reference[j - 1]);
        if (above + 1 < best) {
            best = above + 1;
            step = DELETE_WORD;
        }
        if (left + 1 < best) {
            best = left + 1;
            step = INSERT_WORD;
        }
        r->costs[j - r->first] = best;
        if (r->steps != NULL)
            r->steps[j - r->first] = step;
        left = best;
        diagonal = above;
    }
}

static int64_t last_cost(const row *r)
{
    return r->costs[r->end - 1 - r->first];
}

/* Rows behind the first `unchanged` words; the distance of the whole. */
static int64_t fill_matrix(rgmi_ter_work *work, int64_t unchanged)
{
    for (int64_t i = unchanged + 1; i <= work->length; i++)
        fill_row(&work->rows[i], &work->rows[i - 1], work->words[i - 1], work->reference);
    return last_cost(&work->rows[work->length]);
}

/* Whether all cells of two rows of one extent differ by the same. */
static bool differ_by_constant(const row *a, const row *b)
{
    int32_t difference = a->costs[0] - b->costs[0];

    for (int64_t j = 1; j < a->end - a->first; j++)
        if (a->costs[j] - b->costs[j] != difference)
            return false;
    return true;
}

/* Distance of work->shifted, which has work->words but in [low, high). */
static int64_t shifted_distance(rgmi_ter_work *work, int64_t low, int64_t high, int64_t distance)
{
    const row *before = &work->rows[low];

    for (int64_t i = low + 1; i <= work->length; i++) {
        row *r = &work->scratch[i % 2];

        r->first = work->rows[i].first;
        r->end = work->rows[i].end;
        fill_row(r, before, work->shifted[i - 1], work->reference);
        if (i >= high && differ_by_constant(r, &work->rows[i]))
            return distance + r->costs[0] - work->rows[i].costs[0];
        before = r;
    }
    return last_cost(before);
}

/* Where the words of the reference are in the hypothesis, and what of both is wrong. */
static void align(rgmi_ter_work *work)
{
    int64_t i = work->length, j = work->reference_length;

    while (i > 0 || j > 0) {
        uint8_t step = i > 0 ? work->rows[i].steps[j - work->rows[i].first] : INSERT_WORD;

        if (step == INSERT_WORD) {
            work->aligned[--j] = i - 1;
            work->reference_wrong[j] = true;
        } else if (step == DELETE_WORD) {
            work->word_wrong[--i] = true;
        } else {
            bool wrong = work->words[--i] != work->reference[--j];

            work->aligned[j] = i;
            work->reference_wrong[j] = work->word_wrong[i] = wrong;
        }
    }
}

/* ---- shifts ---------------------------------------------------------------------------------- */

static void copy_words(int32_t *to, const int32_t *from, int64_t count)
{
    memcpy(to, from, (size_t)count * sizeof *to);
}

/* work->shifted in [low, high), which it sets. */
static void perform(rgmi_ter_work *work, shift *s)
{
    const int32_t *words = work->words;
    int32_t *out = work->shifted;
    int64_t after = s->start + s->length, moved;

    if (s->target < s->start) {
        s->low = s->target;
        s->high = after;
        copy_words(out + s->target, words + s->start, s->length);
        copy_words(out + s->target + s->length, words + s->target, s->start - s->target);
        return;
    }
    /* Behind its own place; a target within the words themselves moves them on by its offset. */
    moved = s->target > after ? s->target - after : s->target - s->start;
    if (moved > work->length - after)
        moved = work->length - after;
    s->low = s->start;
    s->high = after + moved;
    copy_words(out + s->start, words + after, moved);
    copy_words(out + s->start + moved, words + s->start, s->length);
}

/* Of two candidates the better: more gain, then longer, then earlier, then to an earlier place. */
static bool is_better(const shift *a, const shift *b)
{
    if (a->gain != b->gain)
        return a->gain > b->gain;
    if (a->length != b->length)
        return a->length > b->length;
    if (a->start != b->start)
        return a->start < b->start;
    return a->target < b->target;
}

/* Try words [start, start + length) at every place that the equal words of the reference suggest.
 */
static void try_places(shift *best, int64_t *candidates, rgmi_ter_work *work, int64_t start,
                       int64_t place, int64_t length, int64_t distance)
{
    int64_t last = -1;

    for (int64_t j = place - 1; j < place + length && j < work->reference_length; j++) {
        shift s = {.start = start, .length = length};

        s.target = j < 0 ? 0 : work->aligned[j] + 1;
        if (s.target == last)
            continue;
        last = s.target;
        perform(work, &s);
        s.gain = distance - shifted_distance(work, s.low, s.high, distance);
        copy_words(work->shifted + s.low, work->words + s.low, s.high - s.low);
        (*candidates)++;
        if (best->length == 0 || is_better(&s, best))
            *best = s;
    }
}

/* Words from `start` that the reference has from `place` on, in every length. */
static void try_pair(shift *best, int64_t *candidates, rgmi_ter_work *work, int64_t start,
                     int64_t place, int64_t distance)
{
    bool wrong = false, reference_wrong = false;

    for (int64_t length = 1; length <= LONGEST_SHIFT && *candidates < MOST_CANDIDATES; length++) {
        int64_t i = start + length - 1, j = place + length - 1;

        if (i >= work->length || j >= work->reference_length ||
            work->words[i] != work->reference[j])
            return;
        wrong = wrong || work->word_wrong[i];
        reference_wrong = reference_wrong || work->reference_wrong[j];
        /* Words that are right stay, and so does a place that is already right. */
        if (!wrong || !reference_wrong)
            continue;
        /* It may lie within the words themselves. */
        if (work->aligned[place] >= start && work->aligned[place] < start + length)
            continue;
        try_places(best, candidates, work, start, place, length, distance);
    }
}

/* The best shift of all; its length is 0 when there is none. */
static shift find_shift(int64_t *candidates, rgmi_ter_work *work, int64_t distance)
{
    shift best = {0};

    for (int64_t start = 0; start < work->length; start++) {
        int64_t from = start > FARTHEST_SHIFT ? start - FARTHEST_SHIFT : 0;

        for (int64_t place = from;
             place < work->reference_length && place <= start + FARTHEST_SHIFT; place++) {
            try_pair(&best, candidates, work, start, place, distance);
            if (*candidates >= MOST_CANDIDATES)
                return best;
        }
    }
    return best;
}

rgm_status rgmi_ter_edits(int64_t *edits, rgmi_ter_work *work, const int32_t *hypothesis,
                          int64_t hypothesis_length, const int32_t *reference,
                          int64_t reference_length)
{
    int64_t distance, candidates = 0, shifts = 0;

    if (hypothesis_length >= UNREACHED || reference_length >= UNREACHED)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "a line of %lld words is too long to be scored",
                        (long long)(hypothesis_length > reference_length ? hypothesis_length
                                                                         : reference_length));
    *edits = hypothesis_length > 0 ? hypothesis_length : reference_length;
    if (hypothesis_length == 0 || reference_length == 0)
        return RGM_OK;
    RGM_TRY(reserve(work, hypothesis_length, reference_length));
    work->reference = reference;
    copy_words(work->words, hypothesis, hypothesis_length);
    copy_words(work->shifted, hypothesis, hypothesis_length);
    for (int64_t j = 0; j <= reference_length; j++)
        work->rows[0].costs[j] = (int32_t)j;
    distance = fill_matrix(work, 0);
    for (;;) {
        shift best;

        align(work);
        best = find_shift(&candidates, work, distance);
        /* Past the limit even the best shift found is given up. */
        if (candidates >= MOST_CANDIDATES || best.length == 0 || best.gain <= 0)
            break;
        perform(work, &best);
        copy_words(work->words + best.low, work->shifted + best.low, best.high - best.low);
        distance = fill_matrix(work, best.low);
        shifts++;
    }
    *edits = shifts + distance;
    return RGM_OK;
}
