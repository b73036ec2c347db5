/*
 * Weights under other programs' names: finding a row, and moving numbers between their layout and
 * ours. Both ways are one loop over the numbers of ours, so that they cannot disagree.
 */
#include <stdio.h>
#include <string.h>

#include <regimen/sequence_names.h>

/* ---- names ----------------------------------------------------------------------------------- */

/* Whether a name is that of the row, with a number of at most six digits in the place of '%'. */
static bool fits(const char *pattern, const char *name, int64_t *layer)
{
    *layer = 0;
    for (; *pattern != '\0'; pattern++) {
        int digits = 0;

        if (*pattern != '%') {
            if (*name++ != *pattern)
                return false;
            continue;
        }
        for (; name[digits] >= '0' && name[digits] <= '9' && digits < 6; digits++)
            *layer = 10 * *layer + (name[digits] - '0');
        if (digits == 0 || (name[0] == '0' && digits > 1))
            return false;
        name += digits;
    }
    return *name == '\0';
}

const rgm_weight_name *rgm_weight_find(const rgm_weight_name *names, const char *ours,
                                       int64_t *layer)
{
    for (; names->ours != NULL; names++)
        if (fits(names->ours, ours, layer))
            return names;
    *layer = 0;
    return NULL;
}

rgm_status rgm_weight_print(char *out, size_t size, const char *name, int64_t layer)
{
    const char *mark = strpbrk(name, "%#");
    int wrote = mark == NULL ? snprintf(out, size, "%s", name)
                             : snprintf(out, size, "%.*s%lld%s", (int)(mark - name), name,
                                        (long long)layer + (*mark == '#'), mark + 1);

    if (wrote < 0 || (size_t)wrote >= size)
        return RGM_FAIL(RGM_ERR_ARG, "the name '%s' has more than %zu bytes", name, size - 1);
    return RGM_OK;
}

const char *rgm_weight_describe(char *out, size_t size, const rgm_weight_name *name)
{
    char part[64] = "";

    if (name->parts > 1)
        snprintf(part, sizeof part, ", part %d of %d", name->part + 1, name->parts);
    snprintf(out, size, "%s%s%s%s", (name->how & RGM_WEIGHT_TURNED) != 0 ? "turned" : "as is",
             (name->how & RGM_WEIGHT_ROW) != 0 ? ", its row" : "",
             (name->how & RGM_WEIGHT_TOKENS) != 0 ? ", a row a token" : "", part);
    return out;
}

/* ---- layouts --------------------------------------------------------------------------------- */

/** Where the numbers of one of ours lie in theirs. */
typedef struct layout {
    int rank;                      /* of theirs */
    int64_t shape[2];              /* of theirs */
    int64_t rows, width;           /* of ours that lie there; a vector is one column of rows */
    int64_t first, row_step, step; /* the place of (row, column) is first + row row_step + column
                                      step */
    const int64_t *from;           /* theirs of our rows, see rgm_weight_tokens; NULL: the same */
    double missing;                /* in a vector, where theirs has no row                      */
} layout;

/* Where a row of ours begins in theirs; -1: it has none. */
static int64_t row_at(const layout *l, int64_t i)
{
    int64_t row = l->from != NULL ? l->from[i] : i;

    return row < 0 ? -1 : l->first + row * l->row_step;
}

static rgm_status layout_of(layout *out, const rgm_tensor *ours, const rgm_weight_name *name,
                            const rgm_weight_tokens *tokens)
{
    int rank = rgm_tensor_rank(ours);
    int64_t parts = name->parts > 1 ? name->parts : 1, wide, high;
    bool turned = (name->how & RGM_WEIGHT_TURNED) != 0, row = (name->how & RGM_WEIGHT_ROW) != 0;

    if (rank < 1 || rank > 2 || (rank == 1 && turned) || (rank == 2 && row))
        return RGM_FAIL(RGM_ERR_SHAPE, "'%s' has %d axes, of which its row cannot speak",
                        name->ours, rank);
    *out =
        (layout){.rows = rgm_tensor_dim(ours, 0), .width = rank == 2 ? rgm_tensor_dim(ours, 1) : 1};
    high = out->rows;
    if ((name->how & RGM_WEIGHT_TOKENS) != 0) {
        if (tokens->taken > out->rows || (tokens->from == NULL && tokens->taken > tokens->theirs))
            return RGM_FAIL(RGM_ERR_SHAPE, "'%s' has %lld rows, not for %lld of %lld tokens",
                            name->ours, (long long)out->rows, (long long)tokens->taken,
                            (long long)tokens->theirs);
        out->rows = tokens->taken;
        out->from = tokens->from;
        out->missing = rank == 1 ? tokens->missing : 0;
        high = tokens->theirs;
    }
    if (rank == 1)
        high *= parts;
    wide = rank == 2 ? out->width * parts : 1;
    out->row_step = turned ? 1 : wide;
    out->step = turned ? high : 1;
    out->first = name->part * (rank == 1 ? out->rows : out->width * out->step);
    out->rank = rank == 2 || row ? 2 : 1;
    out->shape[0] = turned ? wide : row ? 1 : high;
    out->shape[1] = turned || row ? high : wide;
    return RGM_OK;
}

static rgm_status check_shape(const layout *l, const rgm_tensor *theirs,
                              const rgm_weight_name *name)
{
    char have[96], want[64];

    if (rgm_tensor_rank(theirs) == l->rank && rgm_tensor_dim(theirs, 0) == l->shape[0] &&
        (l->rank == 1 || rgm_tensor_dim(theirs, 1) == l->shape[1]))
        return RGM_OK;
    if (l->rank == 1)
        snprintf(want, sizeof want, "[%lld]", (long long)l->shape[0]);
    else
        snprintf(want, sizeof want, "[%lld, %lld]", (long long)l->shape[0], (long long)l->shape[1]);
    rgm_tensor_describe(theirs, have, sizeof have);
    return RGM_FAIL(RGM_ERR_SHAPE, "'%s' is %s, by the configuration it would be %s", name->theirs,
                    have, want);
}

static float number_at(const rgm_tensor *x, int64_t i)
{
    if (rgm_tensor_dtype(x) == RGM_F64)
        return (float)rgm_tensor_f64(x)[i];
    if (rgm_tensor_dtype(x) == RGM_BF16)
        return rgm_bf16_to(rgm_tensor_bf16(x)[i]);
    return rgm_tensor_f32(x)[i];
}

rgm_status rgm_weight_take(rgm_tensor *to, const rgm_tensor *from, const rgm_weight_name *name,
                           const rgm_weight_tokens *tokens)
{
    rgm_dtype dtype = rgm_tensor_dtype(from);
    layout l;

    if (rgm_tensor_dtype(to) != RGM_F32 ||
        (dtype != RGM_F32 && dtype != RGM_F64 && dtype != RGM_BF16))
        return RGM_FAIL(RGM_ERR_DTYPE,
                        "'%s' has numbers of the type %s: f32, f64 and bf16 are "
                        "read",
                        name->theirs, rgm_dtype_name(dtype));
    RGM_TRY(layout_of(&l, to, name, tokens));
    RGM_TRY(check_shape(&l, from, name));
    memset(rgm_tensor_data(to), 0, rgm_tensor_bytes(to));
    for (int64_t i = 0; i < l.rows; i++) {
        int64_t at = row_at(&l, i);
        for (int64_t j = 0; j < l.width; j++)
            rgm_tensor_f32(to)[i * l.width + j] =
                at < 0 ? (float)l.missing : number_at(from, at + j * l.step);
    }
    return RGM_OK;
}

rgm_status rgm_weight_give(rgm_tensor **to, const rgm_tensor *from, const rgm_weight_name *name,
                           const rgm_weight_tokens *tokens)
{
    layout l;

    if (rgm_tensor_dtype(from) != RGM_F32)
        return RGM_FAIL(RGM_ERR_DTYPE, "'%s' is no f32", name->ours);
    RGM_TRY(layout_of(&l, from, name, tokens));
    if (*to == NULL) {
        RGM_TRY(rgm_tensor_create(to, RGM_F32, l.rank, l.shape));
        memset(rgm_tensor_data(*to), 0, rgm_tensor_bytes(*to));
    }
    RGM_TRY(check_shape(&l, *to, name));
    for (int64_t i = 0; i < l.rows; i++) {
        int64_t at = row_at(&l, i);
        for (int64_t j = 0; j < l.width && at >= 0; j++)
            rgm_tensor_f32(*to)[at + j * l.step] = rgm_tensor_f32(from)[i * l.width + j];
    }
    return RGM_OK;
}
