/*
 * Counts instead of times: what the kernels of a step launch, compute and move, and how long an
 * H100 would need for that at its limits. No GPU is needed: see shadow_device.h. On "cpu" its rows
 * are not asked, and what is counted is what the CPU's would do.
 */
#include "bench.h"
#include "count_costs.h"

/* An H100's limits. */
#define MEMORY_RATE 3e12   /* bytes a second                              */
#define FLOAT_RATE  60e12  /* f32 operations a second                     */
#define MATRIX_RATE 800e12 /* bf16 operations of matrix units             */
#define LAUNCH      2e-6   /* seconds between kernels that do nothing     */
#define COPY_RATE   50e9   /* bytes a second from and to the host, pinned */
#define ROUND_TRIP  10e-6  /* seconds of a copy to the host that is awaited */

/* Names of rows, and their numbers. */
#define ROW_NUMBER(result, name, arguments) ROW_##name,
#define ROW_NAME(result, name, arguments)   #name,
enum { RGM_KERNEL_LIST(ROW_NUMBER, ROW_NUMBER, ROW_NUMBER) ROWS };
static const char *const row_names[] = {RGM_KERNEL_LIST(ROW_NAME, ROW_NAME, ROW_NAME)};

typedef struct row_count {
    int64_t calls, launches;
    double flops, bytes;
    double memory, compute; /* seconds at the limits                */
    double roofline;        /* of each call the larger, and their sum */
} row_count;

static struct {
    row_count rows[ROWS];
    int64_t launches; /* of the row that is running */
    double copied_to, copied_from;
    int64_t waits;
} counter;

/* A call of a row, whose launches have been counted. */
static void add_call(int row, bench_cost cost, double scratch, bool bf16)
{
    row_count *c = &counter.rows[row];
    double rate = bf16 && cost.is_product ? MATRIX_RATE : FLOAT_RATE;
    double memory, compute = cost.flops / rate;

    cost.bytes += 2 * scratch; /* written, and read by the next */
    memory = cost.bytes / MEMORY_RATE;
    c->calls += cost.bytes > 0; /* a copy of what is there already is none */
    c->flops += cost.flops;
    c->bytes += cost.bytes;
    c->memory += memory;
    c->compute += compute;
    c->roofline += memory > compute ? memory : compute;
    c->launches += counter.launches;
    counter.launches = 0;
}

static void count_copy_to(size_t bytes)
{
    counter.copied_to += (double)bytes;
}

static void count_copy_from(size_t bytes)
{
    counter.copied_from += (double)bytes;
    counter.waits++;
}

#define SHADOW_LAUNCHED              counter.launches++
#define SHADOW_COPIED(member, bytes) count_copy_##member(bytes)
#define SHADOW_CALLED(name, dtype)                                                                 \
    add_call(ROW_##name, cost_##name(args, (dtype) == RGM_F64 ? 8 : 4, !shadow.cpu_alone),         \
             (double)shadow.scratch, (dtype) == RGM_BF16)
#include <shadow_device.h>

/* ---- what the bench calls -------------------------------------------------------------------- */

rgm_status bench_count_open(rgm_device **out, bool gpu)
{
    RGM_TRY(shadow_open());
    shadow.cpu_alone = !gpu;
    *out = shadow.device;
    return RGM_OK;
}

void bench_count_begin(void)
{
    memset(counter.rows, 0, sizeof counter.rows);
    counter.copied_to = counter.copied_from = 0;
    counter.waits = 0;
}

static rgm_status print_row(rgm_text *out, const row_count *row, const char *name, double steps)
{
    return rgm_text_printf(out,
                           "{\"row\": \"%s\", \"calls\": %.6g, \"launches\": %.6g, \"flops\": "
                           "%.6g, \"bytes\": %.6g, \"roofline\": %.6g}",
                           name, (double)row->calls / steps, (double)row->launches / steps,
                           row->flops / steps, row->bytes / steps, row->roofline / steps);
}

rgm_status bench_count_print(rgm_text *out, int64_t step_count)
{
    double steps = (double)step_count, times[4];
    row_count sum = {0};
    const char *between = "";
    int64_t ops = 0;

    RGM_TRY(
        rgm_text_printf(out, ", \"on\": \"%s\", \"rows\": [", shadow.cpu_alone ? "cpu" : "gpu"));
    for (int i = 0; i < ROWS; i++) {
        const row_count *r = &counter.rows[i];
        if (r->calls == 0 && r->launches == 0)
            continue;
        RGM_TRY(rgm_text_add(out, between, (int64_t)strlen(between)));
        RGM_TRY(print_row(out, r, row_names[i], steps));
        between = ", ";
        ops += r->calls;
        sum.launches += r->launches;
        sum.flops += r->flops;
        sum.bytes += r->bytes;
        sum.memory += r->memory;
        sum.compute += r->compute;
        sum.roofline += r->roofline;
    }
    times[0] = sum.memory / steps;
    times[1] = sum.compute / steps;
    times[2] = LAUNCH * (double)sum.launches / steps;
    times[3] = ((counter.copied_to + counter.copied_from) / COPY_RATE +
                ROUND_TRIP * (double)counter.waits) /
               steps;
    return rgm_text_printf(
        out,
        "], \"ops\": %.6g, \"launches\": %.6g, \"flops\": %.6g, \"bytes\": %.6g, \"copied_to\": "
        "%.6g, \"copied_from\": %.6g, \"waits\": %.6g, \"roofline\": %.6g, \"memory\": %.6g, "
        "\"multiply-adds\": %.6g, \"launching\": %.6g, \"copies\": %.6g",
        (double)ops / steps, (double)sum.launches / steps, sum.flops / steps, sum.bytes / steps,
        counter.copied_to / steps, counter.copied_from / steps, (double)counter.waits / steps,
        sum.roofline / steps, times[0], times[1], times[2], times[3]);
}
