/*
 * Sobol' points (Sobol' 1967), with the direction numbers of Joe & Kuo (SIAM J. Sci. Comput. 30,
 * 2008: "new-joe-kuo-6", LICENSES/joe_kuo.txt), in Gray code order as others give them, and
 * scrambled as Owen (1995) by a hash (Laine & Karras 2011, constants of Vegdahl 2021): each digit
 * is flipped by what the digits above it and the seed say, so that points stay as even as they are.
 *
 * As a sampler, and as the start of those that learn: trial k of a search takes point k, whatever
 * came of the others, so there is nothing to save.
 */
#include "samplers_internal.h"
#include "search_internal.h"

#include <string.h>

enum { BITS = 32, MOST_DEGREE = 9, MOST_WALK = 1 << 14 };

/* A primitive polynomial by its coefficients, the highest first, and the first direction numbers.
 */
static const struct {
    uint16_t polynomial, first[MOST_DEGREE];
} table[RGMI_SOBOL_DIMENSIONS] = {
    /* clang-format off */
    {1, {1}},
    {3, {1}},
    {7, {1, 3}},
    {11, {1, 3, 1}},
    {13, {1, 1, 1}},
    {19, {1, 1, 3, 3}},
    {25, {1, 3, 5, 13}},
    {37, {1, 1, 5, 5, 17}},
    {41, {1, 1, 5, 5, 5}},
    {47, {1, 1, 7, 11, 19}},
    {55, {1, 1, 5, 1, 1}},
    {59, {1, 1, 1, 3, 11}},
    {61, {1, 3, 5, 5, 31}},
    {67, {1, 3, 3, 9, 7, 49}},
    {91, {1, 1, 1, 15, 21, 21}},
    {97, {1, 3, 1, 13, 27, 49}},
    {103, {1, 1, 1, 15, 7, 5}},
    {109, {1, 3, 1, 15, 13, 25}},
    {115, {1, 1, 5, 5, 19, 61}},
    {131, {1, 3, 7, 11, 23, 15, 103}},
    {137, {1, 3, 7, 13, 13, 15, 69}},
    {143, {1, 1, 3, 13, 7, 35, 63}},
    {145, {1, 3, 5, 9, 1, 25, 53}},
    {157, {1, 3, 1, 13, 9, 35, 107}},
    {167, {1, 3, 1, 5, 27, 61, 31}},
    {171, {1, 1, 5, 11, 19, 41, 61}},
    {185, {1, 3, 5, 3, 3, 13, 69}},
    {191, {1, 1, 7, 13, 1, 19, 1}},
    {193, {1, 3, 7, 5, 13, 19, 59}},
    {203, {1, 1, 3, 9, 25, 29, 41}},
    {211, {1, 3, 5, 13, 23, 1, 55}},
    {213, {1, 3, 7, 3, 13, 59, 17}},
    {229, {1, 3, 1, 3, 5, 53, 69}},
    {239, {1, 1, 5, 5, 23, 33, 13}},
    {241, {1, 1, 7, 7, 1, 61, 123}},
    {247, {1, 1, 7, 9, 13, 61, 49}},
    {253, {1, 3, 3, 5, 3, 55, 33}},
    {285, {1, 3, 1, 15, 31, 13, 49, 245}},
    {299, {1, 3, 5, 15, 31, 59, 63, 97}},
    {301, {1, 3, 1, 11, 11, 11, 77, 249}},
    {333, {1, 3, 1, 11, 27, 43, 71, 9}},
    {351, {1, 1, 7, 15, 21, 11, 81, 45}},
    {355, {1, 3, 7, 3, 25, 31, 65, 79}},
    {357, {1, 3, 1, 1, 19, 11, 3, 205}},
    {361, {1, 1, 5, 9, 19, 21, 29, 157}},
    {369, {1, 3, 7, 11, 1, 33, 89, 185}},
    {391, {1, 3, 3, 3, 15, 9, 79, 71}},
    {397, {1, 3, 7, 11, 15, 39, 119, 27}},
    {425, {1, 1, 3, 1, 11, 31, 97, 225}},
    {451, {1, 1, 1, 3, 23, 43, 57, 177}},
    {463, {1, 3, 7, 7, 17, 17, 37, 71}},
    {487, {1, 3, 1, 5, 27, 63, 123, 213}},
    {501, {1, 1, 3, 5, 11, 43, 53, 133}},
    {529, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
    {539, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
    {545, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
    {557, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
    {563, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
    {601, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
    {607, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
    {617, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
    {623, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
    {631, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
    {637, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
    /* clang-format on */
};

static int degree_of(uint32_t polynomial)
{
    int degree = 0;

    while (polynomial >> (degree + 1) != 0)
        degree++;
    return degree;
}

static void set_directions(uint32_t *directions, int64_t dimension)
{
    uint32_t polynomial = table[dimension].polynomial;
    int degree = degree_of(polynomial);

    for (int k = 0; k < BITS; k++) {
        if (k < degree || degree == 0) {
            uint32_t m = degree == 0 ? 1 : table[dimension].first[k];
            directions[k] = m << (BITS - 1 - k);
            continue;
        }
        directions[k] = directions[k - degree] ^ (directions[k - degree] >> degree);
        for (int i = 1; i < degree; i++)
            if ((polynomial >> (degree - i) & 1) != 0)
                directions[k] ^= directions[k - i];
    }
}

static uint32_t reverse(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
}

/* Every step carries upwards alone, and the digits are turned round: a digit depends on those above
 * it. */
static uint32_t scramble(uint32_t x, uint32_t seed)
{
    x = reverse(x);
    x ^= x * 0x3d20adeau;
    x += seed;
    x *= seed >> 16 | 1;
    x ^= x * 0x05526c56u;
    x ^= x * 0x53a22864u;
    return reverse(x);
}

void rgmi_sobol_begin(rgmi_sobol *sobol, int64_t dimensions, bool scrambled, uint32_t seed)
{
    sobol->scrambled = scrambled;
    sobol->dimensions = dimensions < RGMI_SOBOL_DIMENSIONS ? dimensions : RGMI_SOBOL_DIMENSIONS;
    for (int64_t j = 0; j < sobol->dimensions; j++) {
        const uint32_t key[2] = {seed, (uint32_t)j};

        set_directions(sobol->directions[j], j);
        sobol->seeds[j] = (uint32_t)rgm_hash64(key, sizeof key);
    }
}

void rgmi_sobol_point(double *point, const rgmi_sobol *sobol, uint32_t index)
{
    uint32_t gray = index ^ index >> 1;

    for (int64_t j = 0; j < sobol->dimensions; j++) {
        uint32_t x = 0;

        for (int k = 0; k < BITS; k++)
            x ^= (gray >> k & 1) != 0 ? sobol->directions[j][k] : 0;
        point[j] = (double)(sobol->scrambled ? scramble(x, sobol->seeds[j]) : x) * 0x1p-32;
    }
}

/* ---- trials -------------------------------------------------------------------------------- */

/* Along its axis, each integer and each choice as wide as the others. */
static double along(const rgmi_axis *axis, double share)
{
    double x = axis->low + share * (axis->high - axis->low);

    if (axis->kind == RGM_HYPER_CATEGORICAL)
        return (double)(int64_t)(share * (double)axis->choices);
    return axis->kind == RGM_HYPER_INT ? axis->low + 0.5 + (double)(int64_t)(x - axis->low) : x;
}

/* What a condition leaves out has its dimension all the same; behind the last dimension there is
 * table for, hyperparameters are drawn by themselves. */
static void set_values(rgm_hyper_value *values, const rgm_space *space, const rgmi_axis *axes,
                       int64_t axis_count, const double *point, int64_t dimensions,
                       rgm_mt19937 *random)
{
    int64_t count = rgm_space_count(space), axis = 0;

    memset(values, 0, (size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        bool varies = axis < axis_count && axes[axis].place == i;

        if (!rgm_space_applies(space, i, values))
            ;
        else if (!varies)
            values[i] = rgmi_only_value(rgm_space_at(space, i));
        else if (axis < dimensions)
            values[i] = rgmi_axis_value(&axes[axis], along(&axes[axis], point[axis]));
        else
            rgm_space_draw_one(&values[i], space, i, random);
        axis += varies;
    }
}

/* Points that break a constraint are passed over: the walk from the first one finds the same ones
 * for the trials before. */
static rgm_status walk(rgm_hyper_value *values, bool *found, const rgm_searcher *searcher,
                       const rgmi_sobol *sobol, const rgmi_axis *axes, int64_t axis_count,
                       rgm_mt19937 *random)
{
    const rgm_space *space = rgm_searcher_space(searcher);
    int64_t left = searcher->trial_count - searcher->points_used;
    bool all_hold = space->constraint_count == 0;
    double point[RGMI_SOBOL_DIMENSIONS];

    *found = false;
    for (int64_t i = all_hold ? left : 0; all_hold ? i == left : i < MOST_WALK; i++) {
        rgmi_sobol_point(point, sobol, (uint32_t)i);
        set_values(values, space, axes, axis_count, point, sobol->dimensions, random);
        if (all_hold || (rgm_space_holds(space, values, NULL) && left-- == 0)) {
            *found = true;
            return RGM_OK;
        }
    }
    return RGM_OK;
}

rgm_status rgmi_sobol_draw(rgm_hyper_value *values, const rgm_searcher *searcher, bool scrambled,
                           rgm_mt19937 *random)
{
    rgm_status status = RGM_OK;
    const rgm_space *space = rgm_searcher_space(searcher);
    rgmi_axis *axes = NULL;
    rgmi_sobol *sobol = NULL;
    int64_t count;
    bool found = false;

    RGM_GO(rgmi_axes_create(&axes, &count, space));
    RGM_GO(RGM_NEW(sobol, 1));
    rgmi_sobol_begin(sobol, count, scrambled, searcher->seed);
    RGM_GO(walk(values, &found, searcher, sobol, axes, count, random));
    if (!found)
        RGM_GO(rgm_space_draw(values, space, random));
done:
    rgm_free(axes);
    rgm_free(sobol);
    return status;
}

const char *const rgmi_start_names[] = {"random", "sobol", NULL};

rgm_status rgmi_start_draw(rgm_hyper_value *values, const rgm_searcher *searcher, rgmi_start start,
                           rgm_mt19937 *random)
{
    return start == RGMI_START_SOBOL ? rgmi_sobol_draw(values, searcher, true, random)
                                     : rgm_space_draw(values, rgm_searcher_space(searcher), random);
}

typedef struct sobol_options {
    bool scramble;
} sobol_options;

#define RGM_OPTIONS sobol_options
static const rgm_field sobol_fields[] = {
    RGM_BOOL_FIELD(scramble, "by the seed; false: the sequence itself, which begins at all minima"),
    {0}};
#undef RGM_OPTIONS

static void sobol_defaults(void *options)
{
    *(sobol_options *)options = (sobol_options){.scramble = true};
}

static rgm_status draw(rgm_hyper_value *values, const rgm_searcher *searcher, const void *options,
                       rgm_mt19937 *random)
{
    return rgmi_sobol_draw(values, searcher, ((const sobol_options *)options)->scramble, random);
}

const rgm_sampler_type rgmi_sobol_sampler_type = {
    .section = {.name = "sobol",
                .help = "points that fill the space evenly (Sobol's sequence), blind to results",
                .options_size = sizeof(sobol_options),
                .defaults = sobol_defaults,
                .fields = sobol_fields},
    .draw = draw,
    .blind = true,
};
