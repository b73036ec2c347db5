/* Reductions over an axis, the largest of rows, sums over all of memory. */
#include "gpu.h"

enum {
    LANES = 256,
    MANY_GROUPS = 528,  /* four for each processor of a large GPU */
    FLAT_BLOCK = 4096,  /* elements of a group of a flat sum,               */
    FLAT_GROUPS = 1024, /* of which there are at most so many: in reduce.dev too */
    FLAT_LAUNCH = 20,   /* arrays of a launch                               */
    FLAT_ARRAYS = 256,  /* arrays whose sums are under way at a time */
    SHORT_AXIS = 2048,  /* is not cut, but read by more lanes of fewer columns: as fast as two */
    FEW_ACROSS = 4      /* kernels, of which the second has next to nothing to do              */
};

RGMI_GPU_KERNEL(reduce, reduce_axis);
RGMI_GPU_KERNEL(reduce, reduce_chunks);
RGMI_GPU_KERNEL(reduce, reduce_nothing);
RGMI_GPU_KERNEL(reduce, reduce_prod_grad);
RGMI_GPU_KERNEL(reduce, argmax);
RGMI_GPU_KERNEL(reduce, flat_sums);
RGMI_GPU_KERNEL(reduce, flat_total);

/* The least power of two that is not below n, at most `most`. */
static int64_t power_of_two(int64_t n, int64_t most)
{
    int64_t power = 1;

    while (power < n && power < most)
        power *= 2;
    return power;
}

/* How lanes stand, see reduce.dev, and into how many chunks of what length an axis is cut. */
typedef struct plan {
    int64_t across, along, groups, chunk, chunks;
} plan;

static plan plan_of(int64_t outer, int64_t axis, int64_t inner)
{
    plan p = {.across = power_of_two(inner, 64)};

    p.along = power_of_two(axis, LANES / p.across);
    p.groups = rgmi_blocks(outer, LANES / (p.across * p.along)) * rgmi_blocks(inner, p.across);
    p.chunks = rgmi_min(MANY_GROUPS / rgmi_max(1, p.groups), rgmi_blocks(axis, 8 * p.along));
    p.chunk = rgmi_blocks(axis, rgmi_max(1, p.chunks));
    p.chunks = rgmi_blocks(axis, p.chunk);
    if (p.chunks > 1 && axis <= SHORT_AXIS) {
        p.across = power_of_two(inner, FEW_ACROSS);
        p.along = power_of_two(axis, LANES / p.across);
        p.groups = rgmi_blocks(outer, LANES / (p.across * p.along)) * rgmi_blocks(inner, p.across);
        p.chunk = axis;
        p.chunks = 1;
    }
    return p;
}

void rgmi_gpu_reduce(rgm_dtype real, const rgm_reduce_args *o)
{
    int64_t count = o->outer * o->inner;
    rgm_argument reduction = rgm_integer(o->reduction);
    void *part = NULL;
    plan p, last;

    if (count == 0 || o->axis == 0) {
        RGMI_LAUNCH(&reduce_nothing, real, rgmi_gpu_groups(count, LANES), LANES, rgm_memory(o->y),
                    rgm_integer(count), reduction);
        return;
    }
    p = plan_of(o->outer, o->axis, o->inner);
    if (p.chunks > 1 && (part = rgmi_gpu_take((size_t)(count * p.chunks) * sizeof(double))) == NULL)
        return;
    RGMI_LAUNCH(&reduce_axis, real, p.groups * p.chunks, LANES, rgm_memory(o->y), rgm_memory(part),
                rgm_memory(o->x), rgm_memory(o->factor), rgm_integer(o->outer),
                rgm_integer(o->axis), rgm_integer(o->inner), rgm_integer(p.chunk),
                rgm_integer(p.across), rgm_integer(p.along), reduction);
    if (part == NULL)
        return;
    last = plan_of(o->outer, p.chunks, o->inner);
    RGMI_LAUNCH(&reduce_chunks, real, last.groups, LANES, rgm_memory(o->y), rgm_memory(part),
                rgm_integer(o->outer), rgm_integer(o->axis), rgm_integer(o->inner),
                rgm_integer(p.chunks), rgm_integer(last.across), rgm_integer(last.along),
                reduction);
    rgmi_gpu_give(part);
}

void rgmi_gpu_reduce_prod_grad(rgm_dtype real, const rgm_reduce_args *o)
{
    if (o->axis > 0)
        RGMI_LAUNCH(&reduce_prod_grad, real, rgmi_gpu_groups(o->outer * o->inner, LANES), LANES,
                    rgm_memory(o->y), rgm_memory(o->x), rgm_memory(o->dy), rgm_integer(o->outer),
                    rgm_integer(o->axis), rgm_integer(o->inner));
}

void rgmi_gpu_argmax(rgm_dtype real, const rgm_argmax_args *o)
{
    int64_t along = power_of_two(rgmi_blocks(o->channels, 4), LANES);

    RGMI_LAUNCH(&argmax, real, rgmi_blocks(o->rows, LANES / along), LANES, rgm_memory(o->y),
                rgm_memory(o->x), rgm_integer(o->rows), rgm_integer(o->channels),
                rgm_integer(along));
}

/* ---- what answers the host ----------------------------------------------------------------- */

/* The sums of groups, of as many arrays as a launch has arguments for. */
static void launch_flat(rgm_dtype real, double *part, const rgm_squares_args *o,
                        const int64_t *groups, bool finite)
{
    rgm_argument arguments[3 + 2 * FLAT_LAUNCH] = {rgm_memory(part), rgm_integer(FLAT_GROUPS),
                                                   rgm_integer(finite)};
    int64_t all = 0;

    for (int64_t i = 0; i < FLAT_LAUNCH; i++) {
        bool is_there = i < o->arrays;
        arguments[3 + 2 * i] = rgm_memory(is_there ? o->x[i] : NULL);
        arguments[4 + 2 * i] = rgm_integer(is_there ? o->count[i] : 0);
        all += is_there ? groups[i] : 0;
    }
    rgmi_gpu_launch(&flat_sums, real, all, LANES, arguments, 3 + 2 * FLAT_LAUNCH);
}

/* y [arrays], of the device: of each array the sum of its squares, or how many of it are not
 * finite. `arrays` is at most FLAT_ARRAYS. What cannot be had the device is told, and says at its
 * next copy. */
static void flat_sums_of(rgm_dtype real, double *y, const rgm_squares_args *o, bool finite)
{
    int64_t counts[FLAT_ARRAYS], stride = FLAT_GROUPS;
    double *part = rgmi_gpu_take((size_t)o->arrays * (FLAT_GROUPS + 1) * sizeof *part);
    double *of_counts = part + o->arrays * stride;
    rgm_status status;

    if (part == NULL)
        return;
    for (int64_t i = 0; i < o->arrays; i++)
        counts[i] = rgmi_min(FLAT_GROUPS, rgmi_blocks(o->count[i], FLAT_BLOCK));
    status = rgm_device_copy_to(rgmi_gpu_device(), of_counts, counts,
                                (size_t)o->arrays * sizeof *counts);
    if (status != RGM_OK)
        rgm_device_fault(rgmi_gpu_device(), status);
    for (int64_t i = 0; i < o->arrays; i += FLAT_LAUNCH) {
        const rgm_squares_args some = {
            .x = o->x + i, .count = o->count + i, .arrays = rgmi_min(FLAT_LAUNCH, o->arrays - i)};
        launch_flat(real, part + i * stride, &some, counts + i, finite);
    }
    RGMI_LAUNCH(&flat_total, real, o->arrays, LANES, rgm_memory(y), rgm_memory(part),
                rgm_memory(of_counts), rgm_integer(stride));
    rgmi_gpu_give(part);
}

static double flat_sum(rgm_dtype real, const rgm_flat_args *o, bool finite)
{
    const rgm_squares_args one = {.x = &o->x, .count = &o->count, .arrays = 1};
    double *memory = rgmi_gpu_take(sizeof *memory), answer = 0;
    rgm_status status;

    if (memory == NULL)
        return 0;
    flat_sums_of(real, memory, &one, finite);
    status = rgm_device_copy_from(rgmi_gpu_device(), &answer, memory, sizeof answer);
    rgmi_gpu_give(memory);
    if (status != RGM_OK)
        rgm_device_fault(rgmi_gpu_device(), status);
    return status == RGM_OK ? answer : 0;
}

void rgmi_gpu_squares(rgm_dtype real, const rgm_squares_args *o)
{
    for (int64_t i = 0; i < o->arrays; i += FLAT_ARRAYS) {
        rgm_squares_args some = {
            .x = o->x + i, .count = o->count + i, .arrays = rgmi_min(FLAT_ARRAYS, o->arrays - i)};
        flat_sums_of(real, o->y + i, &some, false);
    }
}

double rgmi_gpu_sum_of_squares(rgm_dtype real, const rgm_flat_args *args)
{
    return flat_sum(real, args, false);
}

bool rgmi_gpu_all_finite(rgm_dtype real, const rgm_flat_args *args)
{
    return flat_sum(real, args, true) == 0;
}
