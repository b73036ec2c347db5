/*
 * How tokens get their positions: sinusoids or a table added to embeddings, queries and keys that
 * are turned, and numbers that are added to scores by how far a key stands from a query.
 */
#include <math.h>

#include "sequence_internal.h"

static void set_number(rgm_tensor *tensor, int64_t i, double x)
{
    if (rgm_tensor_dtype(tensor) == RGM_F64)
        rgm_tensor_f64(tensor)[i] = x;
    else
        rgm_tensor_f32(tensor)[i] = (float)x;
}

/* Makes a constant of `tensor`, which it takes; NULL: there was no memory. */
static rgm_value *constant(rgm_scope *scope, rgm_tensor *tensor)
{
    rgm_value *value;

    if (tensor == NULL)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: positions");
    value = rgm_constant(rgm_scope_graph(scope), tensor);
    rgm_tensor_release(tensor);
    return value;
}

static rgm_tensor *tensor_of(rgm_dtype dtype, int rank, const int64_t *shape)
{
    rgm_tensor *tensor = NULL;

    return rgm_tensor_create(&tensor, dtype, rank, shape) == RGM_OK ? tensor : NULL;
}

/* ---- added to embeddings ----------------------------------------------------------------------
 */

/*
 * Row p: sin(p / t_i) for i < width / 2, then cos(p / t_i); t_i = 10000^(i / (width / 2 - 1)), or
 * as the paper has it 10000^(i / (width / 2)). In double, then rounded once.
 */
static double sinusoid_rate(const rgmi_embedding *o, int64_t i)
{
    int64_t half = o->width / 2;
    int64_t steps = o->positions == RGM_POSITIONS_SINUSOIDAL ? half - 1 : half;

    return pow(10000, -(double)i / (double)(steps > 0 ? steps : 1));
}

static rgm_value *sinusoids(rgm_scope *scope, const rgmi_embedding *o)
{
    int64_t half = o->width / 2, width = o->width;
    rgm_tensor *table =
        tensor_of(rgm_scope_dtype(scope), 2, (int64_t[]){o->max_positions, o->width});

    for (int64_t i = 0; i < half && table != NULL; i++) {
        double rate = sinusoid_rate(o, i);
        for (int64_t p = 0; p < o->max_positions; p++) {
            set_number(table, p * width + i, sin((double)p * rate));
            set_number(table, p * width + half + i, cos((double)p * rate));
        }
    }
    return constant(scope, table);
}

void rgmi_sinusoids_write(float *table, const rgmi_embedding *o)
{
    int64_t half = o->width / 2;

    for (int64_t i = 0; i < half; i++) {
        double rate = sinusoid_rate(o, i);
        for (int64_t p = 0; p < o->max_positions; p++) {
            table[p * o->width + i] = (float)sin((double)p * rate);
            table[p * o->width + half + i] = (float)cos((double)p * rate);
        }
    }
}

bool rgmi_positions_are_added(rgm_positions positions)
{
    return positions == RGM_POSITIONS_SINUSOIDAL || positions == RGM_POSITIONS_SINUSOIDAL_PAPER ||
           positions == RGM_POSITIONS_LEARNED;
}

rgm_value *rgmi_positions_of(rgm_scope *scope, const rgmi_embedding *o, rgm_value *positions)
{
    int64_t shape[2] = {o->max_positions, o->width};
    rgm_value *table;

    if (o->positions == RGM_POSITIONS_LEARNED)
        table = rgm_scope_parameter(scope, "positions", 2, shape,
                                    (rgm_init){RGM_INIT_NORMAL, 1 / sqrt((double)shape[1])});
    else
        table = sinusoids(scope, o);
    return rgm_gather(table, positions);
}

/* ---- turned ------------------------------------------------------------------------------------
 */

/* Row p: cos(p base^(-2i / depth)) for i < depth / 2, then the sines. In double, then rounded. */
static rgm_value *angles(rgm_scope *scope, int64_t count, int64_t depth, double base)
{
    rgm_tensor *table = tensor_of(rgm_scope_dtype(scope), 2, (int64_t[]){count, depth});

    for (int64_t p = 0; p < count && table != NULL; p++)
        for (int64_t i = 0; i < depth / 2; i++) {
            double angle = (double)p * pow(base, -2 * (double)i / (double)depth);
            set_number(table, p * depth + i, cos(angle));
            set_number(table, p * depth + depth / 2 + i, sin(angle));
        }
    return constant(scope, table);
}

rgm_value *rgmi_places_turn(const rgmi_token_places *places, rgm_value *rows, int64_t heads)
{
    if (places == NULL || places->angles == NULL)
        return rows;
    return rgm_rotary(rows, places->angles, places->at, heads);
}

/* ---- added to scores ----------------------------------------------------------------------------
 */

/* Press et al. (2022): 2^(-8 (h + 1) / n) for a power of two n of heads; of another number those of
 * the power below it, and between them every second one of twice that. */
static double slope_of(int64_t h, int64_t heads)
{
    int64_t power = 1;

    while (2 * power <= heads)
        power *= 2;
    return h < power ? pow(2, -8 * (double)(h + 1) / (double)power)
                     : pow(2, -4 * (double)(2 * (h - power) + 1) / (double)power);
}

static rgm_value *slopes(rgm_scope *scope, int64_t heads)
{
    rgm_tensor *list = tensor_of(rgm_scope_dtype(scope), 1, &heads);

    for (int64_t h = 0; h < heads && list != NULL; h++)
        set_number(list, h, slope_of(h, heads));
    return constant(scope, list);
}

/*
 * T5's bucket of a distance (key's place less query's): half of them, of both directions each half,
 * are one distance each, the others grow by a factor up to the reach. In float, as T5 computes it.
 */
static int64_t bucket_of(int64_t distance, int64_t buckets, int64_t reach, bool causal)
{
    int64_t first = 0, away = distance < 0 ? -distance : causal ? 0 : distance, exact, bucket;
    float part;

    if (!causal) {
        buckets /= 2;
        first = distance > 0 ? buckets : 0;
    }
    exact = buckets / 2;
    if (away < exact)
        return first + away;
    part = logf((float)away / (float)exact) / (float)log((double)reach / (double)exact);
    bucket = exact + (int64_t)(part * (float)(buckets - exact));
    return first + (bucket < buckets - 1 ? bucket : buckets - 1);
}

/* [heads, 2 reach + 1] from the table of buckets that the stack learns. */
static rgm_value *relative(rgm_scope *stack, const rgmi_embedding *o, int64_t heads, bool causal)
{
    int64_t reach = o->relative_distance, count = 2 * reach + 1;
    rgm_tensor *list = tensor_of(RGM_I64, 1, &count);
    rgm_value *table = rgm_scope_parameter(rgm_scope_enter(stack, "relative"), "table", 2,
                                           (int64_t[]){o->relative_buckets, heads},
                                           (rgm_init){RGM_INIT_NORMAL, 0.02});

    for (int64_t i = 0; i < count && list != NULL; i++)
        rgm_tensor_i64(list)[i] = bucket_of(i - reach, o->relative_buckets, reach, causal);
    return rgm_permute(rgm_gather(table, constant(stack, list)), (int[]){1, 0});
}

void rgmi_places_make(rgmi_token_places *out, rgm_scope *stack, const rgmi_embedding *o,
                      const rgm_stack_options *blocks, rgm_value *positions, bool causal)
{
    int64_t heads = blocks->num_attention_heads;

    *out = (rgmi_token_places){0};
    if (positions == NULL || stack == NULL)
        return;
    out->at = positions;
    if (rgm_value_rank(positions) != 1)
        out->at = rgm_reshape(positions, 1, (rgm_dim[]){RGM_INFER});
    if (o->positions == RGM_POSITIONS_ROTARY)
        out->angles = angles(stack, o->max_positions, o->width / heads, o->rotary_base);
    if (o->positions == RGM_POSITIONS_ALIBI)
        out->slope = slopes(stack, heads);
    if (o->positions == RGM_POSITIONS_RELATIVE)
        out->bias = relative(stack, o, heads, causal);
}
