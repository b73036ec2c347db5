#include "lines_differ.h"

#include <string.h>

enum { MOST_EDITS = 2000, AROUND = 3 };

typedef struct line {
    const char *text;
    size_t size;
} line;

/* A line of the result: of a alone ('-'), of b alone ('+') or of both (' '). */
typedef struct edit {
    char kind;
    line text;
    int64_t at[2]; /* lines of a and of b before it */
} edit;

typedef struct comparison {
    line *lines[2]; /* [count] of a and of b */
    int64_t count[2];
    int32_t *reached; /* [edits + 1][2 * edits + 1]: how far in a, by edits and diagonal */
    int64_t edits;    /* the fewest; -1: more than MOST_EDITS */
    edit *script;     /* [script_count] */
    int64_t script_count;
} comparison;

/* ---- lines ---------------------------------------------------------------------------------- */

static rgm_status split(line **out, int64_t *count, const char *text)
{
    int64_t capacity = 0;

    while (*text != '\0') {
        size_t size = strcspn(text, "\n");

        RGM_TRY(RGM_RESERVE(*out, capacity, *count + 1));
        (*out)[(*count)++] = (line){text, size};
        text += size + (text[size] == '\n');
    }
    return RGM_OK;
}

static bool are_same(const comparison *c, int64_t i, int64_t k)
{
    const line *a = &c->lines[0][i], *b = &c->lines[1][k];

    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

/* ---- the fewest edits ----------------------------------------------------------------------- */

static int32_t *row_of(const comparison *c, int64_t edits)
{
    return c->reached + edits * edits; /* rows of 1, 3, 5, ... diagonals */
}

/* On diagonal k (of a's lines less b's) with so many edits; k is in -edits..edits, by twos. */
static int64_t begin_of(const comparison *c, int64_t edits, int64_t k)
{
    const int32_t *before = edits > 0 ? row_of(c, edits - 1) + (edits - 1) : NULL;

    if (edits == 0)
        return 0;
    if (k == -edits || (k != edits && before[k - 1] < before[k + 1]))
        return before[k + 1]; /* a line of b */
    return before[k - 1] + 1; /* without a line of a */
}

static rgm_status search(comparison *c)
{
    int64_t most = c->count[0] + c->count[1] < MOST_EDITS ? c->count[0] + c->count[1] : MOST_EDITS;
    int64_t capacity = 0;

    for (int64_t edits = 0; edits <= most; edits++) {
        RGM_TRY(RGM_RESERVE(c->reached, capacity, (edits + 1) * (edits + 1)));
        for (int64_t k = -edits; k <= edits; k += 2) {
            int64_t i = begin_of(c, edits, k);

            while (i < c->count[0] && i - k < c->count[1] && i - k >= 0 && are_same(c, i, i - k))
                i++;
            row_of(c, edits)[edits + k] = (int32_t)i;
            if (i >= c->count[0] && i - k >= c->count[1]) {
                c->edits = edits;
                return RGM_OK;
            }
        }
    }
    c->edits = -1;
    return RGM_OK;
}

/* From the end back to the beginning. */
static rgm_status write_script(comparison *c)
{
    int64_t i = c->count[0], k = c->count[1], at = c->count[0] + c->count[1];
    edit *script;

    RGM_TRY(RGM_NEW(script, at + 1));
    c->script = script;
    for (int64_t edits = c->edits; edits >= 0; edits--) {
        int64_t diagonal = i - k, begin = begin_of(c, edits, diagonal);

        while (i > begin) {
            i--;
            k--;
            script[--at] = (edit){' ', c->lines[0][i], {i, k}};
        }
        if (edits == 0)
            break;
        const int32_t *before = row_of(c, edits - 1) + (edits - 1);
        if (diagonal == -edits ||
            (diagonal != edits && before[diagonal - 1] < before[diagonal + 1])) {
            k--;
            script[--at] = (edit){'+', c->lines[1][k], {i, k}};
        } else {
            i--;
            script[--at] = (edit){'-', c->lines[0][i], {i, k}};
        }
    }
    c->script_count = c->count[0] + c->count[1] - at;
    memmove(script, script + at, (size_t)c->script_count * sizeof *script);
    return RGM_OK;
}

/* ---- printed -------------------------------------------------------------------------------- */

static rgm_status print_part(rgm_text *out, const comparison *c, int64_t from, int64_t to)
{
    int64_t sizes[2] = {0};

    for (int64_t i = from; i < to; i++) {
        sizes[0] += c->script[i].kind != '+';
        sizes[1] += c->script[i].kind != '-';
    }
    RGM_TRY(
        rgm_text_printf(out, "@@ -%lld,%lld +%lld,%lld @@\n",
                        (long long)(c->script[from].at[0] + (sizes[0] > 0)), (long long)sizes[0],
                        (long long)(c->script[from].at[1] + (sizes[1] > 0)), (long long)sizes[1]));
    for (int64_t i = from; i < to; i++)
        RGM_TRY(rgm_text_printf(out, "%c%.*s\n", c->script[i].kind, (int)c->script[i].text.size,
                                c->script[i].text.text));
    return RGM_OK;
}

/* Changes with the lines around them; those that are near are one part. */
static rgm_status print_script(rgm_text *out, const comparison *c)
{
    int64_t from = -1, last = -1;

    for (int64_t i = 0; i < c->script_count; i++) {
        if (c->script[i].kind == ' ')
            continue;
        if (from >= 0 && i - last > 2 * AROUND + 1) {
            RGM_TRY(print_part(out, c, from, last + AROUND + 1));
            from = -1;
        }
        if (from < 0)
            from = i > AROUND ? i - AROUND : 0;
        last = i;
    }
    if (from < 0)
        return RGM_OK;
    return print_part(out, c, from,
                      last + AROUND + 1 < c->script_count ? last + AROUND + 1 : c->script_count);
}

rgm_status lines_differ(rgm_text *out, const char *a, const char *b)
{
    rgm_status status = RGM_OK;
    comparison c = {0};

    RGM_GO(split(&c.lines[0], &c.count[0], a));
    RGM_GO(split(&c.lines[1], &c.count[1], b));
    RGM_GO(search(&c));
    if (c.edits < 0)
        RGM_GO(rgm_text_printf(out, "more than %d lines differ\n", (int)MOST_EDITS));
    if (c.edits <= 0)
        goto done;
    RGM_GO(write_script(&c));
    RGM_GO(print_script(out, &c));
done:
    rgm_free(c.lines[0]);
    rgm_free(c.lines[1]);
    rgm_free(c.reached);
    rgm_free(c.script);
    return status;
}
