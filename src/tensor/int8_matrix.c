/* Matrices in 8 bits: numbers of -127..127 and a step for each row or column. */
#include <math.h>

#include <regimen/tensor.h>

/* A matrix as channels: each has `length` numbers, `step` apart. */
typedef struct channels {
    int64_t count, length, next, step;
} channels;

static channels channels_of(const rgm_tensor *matrix, int axis)
{
    int64_t rows = rgm_tensor_dim(matrix, 0), columns = rgm_tensor_dim(matrix, 1);

    return axis == 0 ? (channels){rows, columns, columns, 1}
                     : (channels){columns, rows, 1, columns};
}

/* NaN: a number is not finite. */
static float step_of(const float *x, const channels *c, int64_t i)
{
    float most = 0;

    for (int64_t p = 0; p < c->length; p++) {
        float size = fabsf(x[i * c->next + p * c->step]);
        if (!(size < INFINITY))
            return NAN;
        most = size > most ? size : most;
    }
    return rgm_int8_step(most);
}

static int8_t in_8_bits(float x, float step)
{
    return (int8_t)(step > 0 ? lrintf(x * (1 / step)) : 0);
}

rgm_status rgm_int8_from(rgm_tensor **numbers, rgm_tensor **steps, const rgm_tensor *matrix,
                         int axis)
{
    rgm_status status = RGM_OK;
    rgm_tensor *made[2] = {NULL};
    const float *x;
    channels c;

    *numbers = *steps = NULL;
    if (rgm_tensor_rank(matrix) != 2 || rgm_tensor_dtype(matrix) != RGM_F32 || axis < 0 || axis > 1)
        return RGM_FAIL(RGM_ERR_ARG, "8 bits are for a matrix of f32, by axis 0 or 1");
    c = channels_of(matrix, axis);
    x = rgm_tensor_data(matrix);
    RGM_GO(rgm_tensor_create(&made[0], RGM_I8, 2, rgm_tensor_shape(matrix)));
    RGM_GO(rgm_tensor_create(&made[1], RGM_F32, 1, &c.count));
    for (int64_t i = 0; i < c.count; i++) {
        float step = rgm_tensor_f32(made[1])[i] = step_of(x, &c, i);
        if (isnan(step))
            RGM_GO(RGM_FAIL(RGM_ERR_NUMERIC, "%s %lld has a number that is not finite",
                            axis == 0 ? "row" : "column", (long long)i));
        for (int64_t p = i * c.next, k = 0; k < c.length; k++, p += c.step)
            ((int8_t *)rgm_tensor_data(made[0]))[p] = in_8_bits(x[p], step);
    }
    *numbers = made[0];
    *steps = made[1];
    made[0] = made[1] = NULL;
done:
    rgm_tensor_release(made[0]);
    rgm_tensor_release(made[1]);
    return status;
}

rgm_status rgm_int8_to(rgm_tensor **matrix, const rgm_tensor *numbers, const rgm_tensor *steps,
                       int axis)
{
    char there[96], here[96];
    int64_t rows, columns;
    const int8_t *from;
    const float *step;
    float *to;

    *matrix = NULL;
    if (rgm_tensor_rank(numbers) != 2 || rgm_tensor_dtype(numbers) != RGM_I8 ||
        rgm_tensor_rank(steps) != 1 || rgm_tensor_dtype(steps) != RGM_F32 || axis < 0 || axis > 1 ||
        rgm_tensor_dim(steps, 0) != rgm_tensor_dim(numbers, axis))
        return RGM_FAIL(RGM_ERR_SHAPE, "%s does not go with steps %s by axis %d",
                        rgm_tensor_describe(numbers, there, sizeof there),
                        rgm_tensor_describe(steps, here, sizeof here), axis);
    rows = rgm_tensor_dim(numbers, 0);
    columns = rgm_tensor_dim(numbers, 1);
    from = rgm_tensor_data(numbers);
    step = rgm_tensor_data(steps);
    RGM_TRY(rgm_tensor_create(matrix, RGM_F32, 2, rgm_tensor_shape(numbers)));
    to = rgm_tensor_f32(*matrix);
    for (int64_t r = 0; r < rows; r++, from += columns, to += columns)
        for (int64_t k = 0; k < columns; k++)
            to[k] = (float)from[k] * step[axis == 0 ? r : k];
    return RGM_OK;
}

void rgm_int8_round_rows(float *x, int64_t rows, int64_t columns)
{
    const channels c = {rows, columns, columns, 1};

    for (int64_t i = 0; i < rows; i++) {
        float step = step_of(x, &c, i); /* NaN: the row becomes that */
        for (int64_t p = i * columns; p < (i + 1) * columns; p++)
            x[p] = (float)in_8_bits(x[p], step) * step;
    }
}
