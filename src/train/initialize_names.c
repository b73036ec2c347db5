/*
 * Weights of another program's file: under which name ours are there, turned round or not, and of
 * which other shape a part is taken.
 */
#include <string.h>

#include "trainer_internal.h"

enum { MOST_STARS = 8 };

/** What the stars of a pattern stand for. */
typedef struct stars {
    rgm_str items[MOST_STARS];
    int count;
} stars;

/* Whether a name is a pattern's, whose '*' stands for any text, the shortest that fits. */
static bool fits(stars *found, const char *pattern, const char *name)
{
    int at = found->count;

    for (; *pattern != '\0' && *pattern != '*'; pattern++, name++)
        if (*pattern != *name)
            return false;
    if (*pattern == '\0')
        return *name == '\0';
    if (at == MOST_STARS)
        return false;
    for (int64_t size = 0;; size++) {
        found->items[at] = (rgm_str){name, size};
        found->count = at + 1;
        if (fits(found, pattern + 1, name + size))
            return true;
        if (name[size] == '\0')
            break;
    }
    found->count = at;
    return false;
}

/* A name with the texts in the places of its stars. */
static rgm_status fill_in(rgm_text *out, const char *pattern, const stars *found)
{
    int next = 0;

    out->size = 0;
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '*' && next < found->count) {
            RGM_TRY(rgm_text_add(out, found->items[next].data, found->items[next].size));
            next++;
        } else {
            RGM_TRY(rgm_text_add(out, pattern, 1));
        }
    }
    return RGM_OK;
}

static int64_t count_stars(const char *pattern)
{
    int64_t count = 0;

    for (; *pattern != '\0'; pattern++)
        count += *pattern == '*';
    return count;
}

rgm_status rgmi_initialize_names_check(const rgm_lists *names)
{
    for (int64_t i = 0; i < names->count; i++)
        for (int64_t k = 0; k < names->items[i].count; k++)
            if (count_stars(names->items[i].items[k]) > count_stars(names->names[i]) ||
                count_stars(names->names[i]) > MOST_STARS)
                return RGM_FAIL(RGM_ERR_CONFIG,
                                "trainer.initialize.names: '%s' has more * than '%s', or that more "
                                "than %d: a * of theirs stands for that of ours in its place",
                                names->items[i].items[k], names->names[i], MOST_STARS);
    return RGM_OK;
}

rgm_status rgmi_initialize_name(rgm_text *out, const char *ours, const rgm_lists *names,
                                rgmi_has_name *has, const void *payload)
{
    RGM_TRY(fill_in(out, ours, &(stars){.count = 0}));
    for (int64_t i = 0; i < names->count; i++) {
        stars found = {.count = 0};
        if (!fits(&found, names->names[i], ours))
            continue;
        for (int64_t k = 0; k < names->items[i].count; k++) {
            RGM_TRY(fill_in(out, names->items[i].items[k], &found));
            if (has(payload, out->data))
                break;
        }
        return RGM_OK; /* the last one, where the file has none of them */
    }
    return RGM_OK;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

rgm_status rgmi_initialize_turn(rgm_tensor **tensor)
{
    rgm_tensor *from = *tensor, *turned;
    int64_t rows, columns;
    size_t size;

    if (rgm_tensor_rank(from) != 2)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "trainer.initialize.turn: it has %d axes, and two are turned",
                        rgm_tensor_rank(from));
    rows = rgm_tensor_dim(from, 0);
    columns = rgm_tensor_dim(from, 1);
    size = rgm_dtype_size(rgm_tensor_dtype(from));
    RGM_TRY(rgm_tensor_create(&turned, rgm_tensor_dtype(from), 2, (int64_t[]){columns, rows}));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            memcpy((char *)rgm_tensor_data(turned) + (size_t)(j * rows + i) * size,
                   (const char *)rgm_tensor_data(from) + (size_t)(i * columns + j) * size, size);
    rgm_tensor_release(from);
    *tensor = turned;
    return RGM_OK;
}

/* The sizes of a tensor without axes of one. */
static int without_ones(int64_t out[RGM_MAX_RANK], const rgm_tensor *t)
{
    int rank = 0;

    for (int i = 0; i < rgm_tensor_rank(t); i++)
        if (rgm_tensor_dim(t, i) != 1)
            out[rank++] = rgm_tensor_dim(t, i);
    return rank;
}

static double number_at(const rgm_tensor *t, int64_t i)
{
    return rgm_tensor_dtype(t) == RGM_BF16 ? (double)rgm_bf16_to(rgm_tensor_bf16(t)[i])
                                           : rgm_tensor_at(t, i);
}

static void set_number(rgm_tensor *t, int64_t i, double x)
{
    if (rgm_tensor_dtype(t) == RGM_F64)
        rgm_tensor_f64(t)[i] = x;
    else
        rgm_tensor_f32(t)[i] = (float)x;
}

static bool is_real(const rgm_tensor *t)
{
    rgm_dtype dtype = rgm_tensor_dtype(t);

    return dtype == RGM_F32 || dtype == RGM_F64 || dtype == RGM_BF16;
}

/* Copy what both have: the first rows and columns. */
static void copy_common(rgm_tensor *to, const rgm_tensor *from, int rank, const int64_t *ours,
                        const int64_t *theirs, const int64_t *rows)
{
    int64_t at[RGM_MAX_RANK] = {0};

    for (int64_t i = 0; i < rgm_tensor_count(to); i++) {
        int64_t place = 0;
        bool both = true;
        for (int k = 0; k < rank; k++) {
            int64_t there = k == 0 && rows != NULL ? rows[at[k]] : at[k];
            both = both && there >= 0 && there < theirs[k];
            place = place * theirs[k] + there;
        }
        if (both)
            set_number(to, i, number_at(from, place));
        for (int k = rank - 1; k >= 0 && ++at[k] == ours[k]; k--)
            at[k] = 0;
    }
}

rgm_status rgmi_initialize_adapt(rgm_tensor **tensor, const rgm_tensor *own, const int64_t *from)
{
    int64_t ours[RGM_MAX_RANK], theirs[RGM_MAX_RANK];
    int rank = without_ones(ours, own);
    rgm_tensor *made;

    if (rank != without_ones(theirs, *tensor) || !is_real(own) || !is_real(*tensor) ||
        rgm_tensor_dtype(own) == RGM_BF16)
        return RGM_FAIL(RGM_ERR_SHAPE, "trainer.initialize.adapt takes a part of as many axes");
    RGM_TRY(rgm_tensor_create(&made, rgm_tensor_dtype(own), rgm_tensor_rank(own),
                              rgm_tensor_shape(own)));
    memcpy(rgm_tensor_data(made), rgm_tensor_data(own), rgm_tensor_bytes(own));
    copy_common(made, *tensor, rank, ours, theirs, from);
    rgm_tensor_release(*tensor);
    *tensor = made;
    return RGM_OK;
}
