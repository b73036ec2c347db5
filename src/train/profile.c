/*
 * trainer.profile: where the time of some steps goes, op by op, and the work outside the steps, as
 * a trace and as a table. All memory is allocated before the first step, so recording cannot fail.
 * Between recorded steps executors call nothing here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_internal.h"

typedef enum kind { STEP, BATCH, PART, OP, BESIDE } kind;

static const char *const categories[] = {"step", "evaluation", "part", "op", "run"};

/* One span of the trace. Names live as long as the trainer. */
typedef struct span {
    kind kind;
    const char *name, *of; /* of: an op's layer, an evaluation's data; NULL */
    int64_t begin, end;    /* nanoseconds since the trainer was created */
    int64_t number;        /* of a step or batch                            */
    int64_t flops, bytes;
} span;

enum { MORE_ROWS = 32, BESIDE_ROWS = 16, SHOWN_ROWS = 16 };

struct rgmi_profile {
    rgm_profile_options options;
    double start;
    int64_t passed, first_step, steps, batches;
    bool recording, in_step;
    double seconds;        /* of the recorded steps */
    rgm_profile_row *rows; /* [row_most] ops and parts, then the report's: sorted, with "other" */
    int64_t row_count, row_most;
    rgm_profile_row beside[BESIDE_ROWS];
    int64_t beside_count;
    span *spans; /* [options.max_events] */
    int64_t count, dropped, told;
};

/* ---- opening and closing ------------------------------------------------------------------- */

rgm_status rgmi_profile_open(rgm_trainer *trainer)
{
    const rgm_profile_options *o = &trainer->options.profile;
    rgmi_profile *p;
    int64_t ops;

    if (o->steps <= 0)
        return RGM_OK;
    if (o->max_events < 1 || o->skip_steps < 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.profile.max_events is %lld and skip_steps is %lld; at least 1 and "
                        "0 are needed",
                        (long long)o->max_events, (long long)o->skip_steps);
    RGM_TRY(RGM_NEW(trainer->profile, 1));
    p = trainer->profile;
    p->options = *o;
    p->start = rgm_now();
    (void)rgm_op_types(&ops);
    p->row_most = ops + MORE_ROWS;
    RGM_TRY(RGM_NEW(p->rows, 2 * p->row_most + 1));
    return RGM_NEW(p->spans, o->max_events);
}

void rgmi_profile_close(rgm_trainer *trainer)
{
    rgmi_profile *p = trainer->profile;

    if (p == NULL)
        return;
    rgm_free(p->rows);
    rgm_free(p->spans);
    rgm_free(p);
    trainer->profile = NULL;
}

/* ---- recording ----------------------------------------------------------------------------- */

static int64_t nanoseconds(const rgmi_profile *p, double time)
{
    return (int64_t)llround((time - p->start) * 1e9);
}

static void add_span(rgmi_profile *p, span s, double begin, double end)
{
    /* before the first recorded step, work outside the steps may use at most half of the memory */
    int64_t most = s.kind == BESIDE ? p->options.max_events / 2 : p->options.max_events;

    if (p->count >= most) {
        p->dropped++;
        return;
    }
    s.begin = nanoseconds(p, begin);
    s.end = nanoseconds(p, end);
    p->spans[p->count++] = s;
}

/* A row for which there is no memory is not counted; the report's "other" then includes it. */
static void add_row(rgm_profile_row *rows, int64_t *count, int64_t most, rgm_profile_row add)
{
    int64_t i = 0;

    while (i < *count && rows[i].name != add.name && strcmp(rows[i].name, add.name) != 0)
        i++;
    if (i == most)
        return;
    if (i == *count)
        rows[(*count)++] = (rgm_profile_row){.name = add.name};
    rows[i].seconds += add.seconds;
    rows[i].calls += 1;
    rows[i].flops += add.flops;
    rows[i].bytes += add.bytes;
}

static void see_op(const rgm_op_event *event, void *payload)
{
    rgmi_profile *p = payload;
    span s = {.kind = OP,
              .name = event->op,
              .of = event->scope,
              .flops = event->flops,
              .bytes = event->bytes};

    add_span(p, s, event->begin, event->end);
    if (p->in_step)
        add_row(p->rows, &p->row_count, p->row_most,
                (rgm_profile_row){.name = event->op,
                                  .seconds = event->end - event->begin,
                                  .flops = event->flops,
                                  .bytes = event->bytes});
}

static void record(rgm_trainer *trainer, bool on, bool in_step)
{
    rgm_executor *executors[] = {trainer->train_run, trainer->eval_run};

    trainer->profile->recording = on;
    trainer->profile->in_step = on && in_step;
    for (int i = 0; i < 2; i++)
        if (executors[i] != NULL)
            rgm_executor_observe(executors[i], on ? see_op : NULL, trainer->profile);
}

double rgmi_profile_step(rgm_trainer *trainer)
{
    rgmi_profile *p = trainer->profile;

    if (p == NULL)
        return 0;
    if (p->passed >= p->options.skip_steps && p->steps < p->options.steps)
        record(trainer, true, true);
    return rgm_now();
}

void rgmi_profile_step_end(rgm_trainer *trainer, double begin, bool done)
{
    rgmi_profile *p = trainer->profile;
    double end;

    if (p == NULL)
        return;
    p->passed += done;
    if (!p->recording)
        return;
    record(trainer, false, false);
    if (!done) /* the data had ended: nothing was recorded */
        return;
    end = rgm_now();
    if (p->steps++ == 0)
        p->first_step = trainer->step;
    p->seconds += end - begin;
    add_span(p, (span){.kind = STEP, .name = "step", .number = trainer->step}, begin, end);
}

double rgmi_profile_batch(rgm_trainer *trainer)
{
    if (trainer->profile == NULL)
        return 0;
    if (trainer->profile->batches < trainer->profile->options.steps)
        record(trainer, true, false);
    return rgm_now();
}

void rgmi_profile_batch_end(rgm_trainer *trainer, double begin, bool done)
{
    rgmi_profile *p = trainer->profile;

    if (p == NULL || !p->recording)
        return;
    record(trainer, false, false);
    if (!done)
        return;
    p->batches++;
    add_span(p, (span){.kind = BATCH, .name = "batch", .number = trainer->eval_steps}, begin,
             rgm_now());
}

/* The model's part is its ops in the table. */
void rgmi_profile_part(const rgm_trainer *trainer, const char *name, double begin)
{
    rgmi_profile *p = trainer->profile;
    double end;

    if (p == NULL || !p->recording)
        return;
    end = rgm_now();
    add_span(p, (span){.kind = PART, .name = name}, begin, end);
    if (p->in_step && strcmp(name, "model") != 0)
        add_row(p->rows, &p->row_count, p->row_most,
                (rgm_profile_row){.name = name, .seconds = end - begin});
}

void rgm_trainer_profile_beside(const rgm_trainer *trainer, const char *name, const char *of,
                                double begin)
{
    rgmi_profile *p = trainer->profile;
    double end;

    if (p == NULL)
        return;
    end = rgm_now();
    add_span(p, (span){.kind = BESIDE, .name = name, .of = of}, begin, end);
    add_row(p->beside, &p->beside_count, BESIDE_ROWS,
            (rgm_profile_row){.name = name, .seconds = end - begin});
}

bool rgm_trainer_profile_is_new(const rgm_trainer *trainer)
{
    return trainer->profile != NULL && trainer->profile->count > trainer->profile->told;
}

bool rgm_trainer_profile_is_full(const rgm_trainer *trainer)
{
    return trainer->profile != NULL && trainer->profile->told == 0 &&
           trainer->profile->steps == trainer->profile->options.steps;
}

void rgm_trainer_profile_written(const rgm_trainer *trainer)
{
    trainer->profile->told = trainer->profile->count;
}

/* ---- the table ----------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const rgm_profile_row *x = a, *y = b;

    return x->seconds != y->seconds ? (x->seconds < y->seconds ? 1 : -1) : strcmp(x->name, y->name);
}

bool rgm_trainer_profile(rgm_profile_report *out, const rgm_trainer *trainer)
{
    const rgmi_profile *p = trainer->profile;
    rgm_profile_row *sorted;
    double rest;

    *out = (rgm_profile_report){0};
    if (p == NULL)
        return false;
    sorted = p->rows + p->row_most;
    rest = p->seconds;
    for (int64_t i = 0; i < p->row_count; i++) {
        sorted[i] = p->rows[i];
        rest -= p->rows[i].seconds;
    }
    sorted[p->row_count] =
        (rgm_profile_row){.name = "other", .seconds = fmax(rest, 0), .calls = p->steps};
    qsort(sorted, (size_t)p->row_count + 1, sizeof *sorted, by_time);
    *out = (rgm_profile_report){.first_step = p->first_step,
                                .steps = p->steps,
                                .seconds = p->seconds,
                                .rows = sorted,
                                .row_count = p->steps > 0 ? p->row_count + 1 : 0,
                                .beside = p->beside,
                                .beside_count = p->beside_count,
                                .events = p->count,
                                .dropped = p->dropped};
    return true;
}

static rgm_status print_rate(rgm_text *out, double count, double seconds)
{
    if (!(count > 0) || !(seconds > 0))
        return rgm_text_printf(out, " %9s", "-");
    return rgm_text_printf(out, " %9.2f", count / seconds / 1e9);
}

static rgm_status print_row(rgm_text *out, const rgm_profile_row *row, const rgm_profile_report *of)
{
    double steps = (double)of->steps;

    RGM_TRY(rgm_text_printf(out, "%-24s %10.4f %6.1f%% %8.1f", row->name,
                            1e3 * row->seconds / steps, 100 * row->seconds / of->seconds,
                            (double)row->calls / steps));
    RGM_TRY(print_rate(out, (double)row->flops, row->seconds));
    RGM_TRY(print_rate(out, (double)row->bytes, row->seconds));
    return rgm_text_printf(out, "\n");
}

/* Print all rows after the largest ones as one. */
static rgm_status print_rest(rgm_text *out, const rgm_profile_report *of)
{
    char name[48];
    rgm_profile_row rest = {.name = name};

    if (of->row_count <= SHOWN_ROWS)
        return RGM_OK;
    snprintf(name, sizeof name, "%lld more", (long long)(of->row_count - SHOWN_ROWS));
    for (int64_t i = SHOWN_ROWS; i < of->row_count; i++) {
        rest.seconds += of->rows[i].seconds;
        rest.calls += of->rows[i].calls;
        rest.flops += of->rows[i].flops;
        rest.bytes += of->rows[i].bytes;
    }
    return print_row(out, &rest, of);
}

static rgm_status print_steps(rgm_text *out, const rgm_profile_report *r)
{
    if (r->steps == 0)
        return rgm_text_printf(out, "no step was recorded: the run ended before\n");
    RGM_TRY(rgm_text_printf(out, "%-24s %10s %7s %8s %9s %9s\n", "op", "ms", "share", "calls",
                            "GFLOP/s", "GB/s"));
    for (int64_t i = 0; i < r->row_count && i < SHOWN_ROWS; i++)
        RGM_TRY(print_row(out, &r->rows[i], r));
    RGM_TRY(print_rest(out, r));
    return rgm_text_printf(out, "%-24s %10.4f %6.1f%%  of one step: mean of %lld from step %lld\n",
                           "step", 1e3 * r->seconds / (double)r->steps, 100.0, (long long)r->steps,
                           (long long)r->first_step);
}

rgm_status rgm_trainer_profile_table(rgm_text *out, const rgm_trainer *trainer)
{
    rgm_profile_report r;

    if (!rgm_trainer_profile(&r, trainer))
        return RGM_OK;
    RGM_TRY(print_steps(out, &r));
    for (int64_t i = 0; i < r.beside_count; i++)
        RGM_TRY(rgm_text_printf(out, "%-24s %10.4f %7s %8lld  in all, beside the steps\n",
                                r.beside[i].name, 1e3 * r.beside[i].seconds, "",
                                (long long)r.beside[i].calls));
    return RGM_OK;
}

/* ---- the trace ----------------------------------------------------------------------------- */

/* By time; an enclosing span comes before those inside it. */
static int by_begin(const void *a, const void *b)
{
    const span *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static rgm_status print_arguments(rgm_text *out, const span *s)
{
    if (s->kind == STEP || s->kind == BATCH)
        return rgm_text_printf(out, ",\"args\":{\"number\":%lld}", (long long)s->number);
    if (s->of == NULL && s->flops == 0 && s->bytes == 0)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, ",\"args\":{"));
    if (s->of != NULL) {
        RGM_TRY(rgm_text_printf(out, "\"%s\":", s->kind == OP ? "scope" : "of"));
        RGM_TRY(rgm_json_print_text(out, s->of));
    }
    if (s->kind == OP)
        RGM_TRY(rgm_text_printf(out, "%s\"flops\":%lld,\"bytes\":%lld", s->of != NULL ? "," : "",
                                (long long)s->flops, (long long)s->bytes));
    return rgm_text_printf(out, "}");
}

static rgm_status print_span(rgm_text *out, const span *s)
{
    int64_t length = s->end - s->begin;

    RGM_TRY(rgm_text_printf(out, ",\n{\"name\":"));
    RGM_TRY(rgm_json_print_text(out, s->name));
    RGM_TRY(rgm_text_printf(out,
                            ",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%lld.%03d,\"dur\":%lld.%03d,"
                            "\"pid\":1,\"tid\":1",
                            categories[s->kind], (long long)(s->begin / 1000),
                            (int)(s->begin % 1000), (long long)(length / 1000),
                            (int)(length % 1000)));
    RGM_TRY(print_arguments(out, s));
    return rgm_text_printf(out, "}");
}

rgm_status rgm_trainer_profile_trace(rgm_text *out, const rgm_trainer *trainer)
{
    rgmi_profile *p = trainer->profile;

    if (p == NULL)
        return RGM_OK;
    qsort(p->spans, (size_t)p->count, sizeof *p->spans, by_begin);
    RGM_TRY(rgm_text_printf(out,
                            "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"steps\":%lld,"
                            "\"dropped_events\":%lld},\"traceEvents\":[\n"
                            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,"
                            "\"args\":{\"name\":\"regimen\"}}",
                            (long long)p->steps, (long long)p->dropped));
    for (int64_t i = 0; i < p->count; i++)
        RGM_TRY(print_span(out, &p->spans[i]));
    return rgm_text_printf(out, "\n]}\n");
}
