/*
 * Weights of a file that has other names, or other shapes: what a parameter is called there, and
 * what of a tensor of another size is taken.
 */
#include <string.h>

#include "trainer_internal.h"

#define MOST_STARS 4

/* What a '*' of a pattern stood for. */
typedef struct span {
    const char *at;
    size_t length;
} span;

static int count_stars(const char *pattern)
{
    int count = 0;

    for (const char *c = pattern; *c != '\0'; c++)
        count += *c == '*';
    return count;
}

/* Whether a name fits, each '*' as short as it can be; stars: [count_stars(pattern)]. */
static bool fits(span *stars, const char *pattern, const char *name)
{
    size_t plain = strcspn(pattern, "*");

    if (strncmp(pattern, name, plain) != 0)
        return false;
    if (pattern[plain] == '\0')
        return name[plain] == '\0';
    for (size_t n = 0;; n++) {
        if (fits(stars + 1, pattern + plain + 1, name + plain + n)) {
            *stars = (span){name + plain, n};
            return true;
        }
        if (name[plain + n] == '\0')
            return false;
    }
}

static rgm_status check_pair(const char *ours, const rgm_texts *theirs)
{
    int count = count_stars(ours);

    if (theirs->count != 1 || count > MOST_STARS || count_stars(theirs->items[0]) != count)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.initialize.names: '%s' needs one name of the file, with as many "
                        "'*' as it has itself, at most %d",
                        ours, MOST_STARS);
    return RGM_OK;
}

/* A pattern that fits nothing is a misspelt name. */
static rgm_status check_fits(const char *ours, const rgm_parameters *parameters)
{
    int64_t count = rgm_parameters_count(parameters);
    span stars[MOST_STARS + 1];
    const char **names = NULL;
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < count; i++)
        if (fits(stars, ours, rgm_parameters_name(parameters, i)))
            return RGM_OK;
    RGM_GO(RGM_NEW(names, count + 1));
    for (int64_t i = 0; i < count; i++)
        names[i] = rgm_parameters_name(parameters, i);
    status =
        RGM_FAIL(RGM_ERR_CONFIG, "trainer.initialize.names: '%s' fits none of %lld parameters%s",
                 ours, (long long)count, rgm_did_you_mean(ours, names, count, NULL, NULL).text);
done:
    rgm_free(names);
    return status;
}

rgm_status rgmi_initialize_names_check(const rgm_lists *names, const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < names->count; i++) {
        RGM_TRY(check_pair(names->names[i], &names->items[i]));
        RGM_TRY(check_fits(names->names[i], parameters));
    }
    return RGM_OK;
}

rgm_status rgmi_initialize_name(rgm_text *there, const char *name, const rgm_lists *names)
{
    span stars[MOST_STARS + 1];
    int at = 0;

    for (int64_t i = 0; i < names->count; i++) {
        if (!fits(stars, names->names[i], name))
            continue;
        for (const char *c = names->items[i].items[0]; *c != '\0'; c++)
            if (*c != '*') {
                RGM_TRY(rgm_text_add(there, c, 1));
            } else {
                RGM_TRY(rgm_text_add(there, stars[at].at, (int64_t)stars[at].length));
                at++;
            }
        return RGM_OK;
    }
    return rgm_text_printf(there, "%s", name);
}

/* Copy the elements whose index both shapes have, axis by axis. */
static void copy_common(char *to, const char *from, const rgm_tensor *a, const rgm_tensor *b,
                        int axis)
{
    size_t own = rgm_dtype_size(rgm_tensor_dtype(a)), other = own;
    int64_t common, rank = rgm_tensor_rank(a);

    for (int k = axis + 1; k < rank; k++) {
        own *= (size_t)rgm_tensor_dim(a, k);
        other *= (size_t)rgm_tensor_dim(b, k);
    }
    common = rgm_tensor_dim(a, axis) < rgm_tensor_dim(b, axis) ? rgm_tensor_dim(a, axis)
                                                               : rgm_tensor_dim(b, axis);
    if (axis == rank - 1) {
        memcpy(to, from, (size_t)common * own);
        return;
    }
    for (int64_t i = 0; i < common; i++)
        copy_common(to + (size_t)i * own, from + (size_t)i * other, a, b, axis + 1);
}

rgm_status rgmi_initialize_resize(rgm_tensor **out, const rgm_tensor *initial,
                                  const rgm_tensor *from)
{
    *out = NULL;
    if (rgm_tensor_dtype(initial) != rgm_tensor_dtype(from) ||
        rgm_tensor_rank(initial) != rgm_tensor_rank(from) || rgm_tensor_rank(from) == 0)
        return RGM_OK;
    RGM_TRY(rgm_tensor_copy(out, initial));
    if (rgm_tensor_count(initial) > 0 && rgm_tensor_count(from) > 0)
        copy_common(rgm_tensor_data(*out), rgm_tensor_data(from), initial, from, 0);
    return RGM_OK;
}
