/*
 * Profiles: the rows are the graph's ops and sum up to the steps, spans of the trace are nested,
 * there are no more than requested, and a run with a profile ends with the same bytes.
 */
#include <math.h>

#include "controller_internal.h"
#include "controller_check.h"

static plane_setup profiled(int64_t steps, int64_t skip)
{
    plane_setup s = make_plane_setup();

    s.options.profile.steps = steps;
    s.options.profile.skip_steps = skip;
    return s;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static const rgm_profile_row *find_row(const rgm_profile_report *r, const char *name)
{
    for (int64_t i = 0; i < r->row_count; i++)
        if (strcmp(r->rows[i].name, name) == 0)
            return &r->rows[i];
    return NULL;
}

/* The ops that a step of the graph runs. */
typedef struct visited {
    rgm_profile_row rows[64];
    int64_t count;
} visited;

static void visit(const rgm_op_event *event, void *payload)
{
    visited *v = payload;
    int64_t i = 0;

    while (i < v->count && strcmp(v->rows[i].name, event->op) != 0)
        i++;
    if (i == v->count)
        v->rows[v->count++] = (rgm_profile_row){.name = event->op};
    v->rows[i].calls++;
    v->rows[i].flops += event->flops;
    v->rows[i].bytes += event->bytes;
}

static void rows_are_the_ops_of_the_graph_and_sum_up_to_the_steps(void **state)
{
    plane_setup s = profiled(3, 2);
    rgm_profile_report r;
    rgm_trainer *trainer;
    visited v = {.count = 0};
    double sum = 0, before = rgm_now();

    (void)state;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK(rgm_trainer_profile(&r, trainer) && r.steps == 0 && r.row_count == 0);
    train_steps(trainer, 9);
    CHECK(rgm_trainer_profile(&r, trainer));
    CHECK_INT(r.first_step, 3);
    CHECK_INT(r.steps, 3);
    CHECK(r.seconds > 0 && r.seconds < rgm_now() - before);
    for (int64_t i = 0; i < r.row_count; i++) {
        CHECK(r.rows[i].seconds >= 0 && (i == 0 || r.rows[i].seconds <= r.rows[i - 1].seconds));
        sum += r.rows[i].seconds;
    }
    CHECK_CLOSE(sum, r.seconds, 1e-9, 0);
    rgm_executor_visit(rgm_trainer_executor(trainer, RGM_TRAIN), visit, &v);
    CHECK_INT(r.row_count, v.count + 3); /* data, update, other */
    for (int64_t i = 0; i < v.count; i++) {
        const rgm_profile_row *row = find_row(&r, v.rows[i].name);

        CHECK(row != NULL);
        CHECK_INT(row->calls, 3 * v.rows[i].calls);
        CHECK_INT(row->flops, 3 * v.rows[i].flops);
        CHECK_INT(row->bytes, 3 * v.rows[i].bytes);
    }
    CHECK_INT(find_row(&r, "data")->calls, 3);
    CHECK_INT(find_row(&r, "update")->calls, 3);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

static void without_one_there_is_nothing(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_profile_report r;
    rgm_text text = {0};
    rgm_trainer *trainer;

    (void)state;
    CHECK_OK(open_plane(&trainer, &s));
    train_steps(trainer, 2);
    CHECK(!rgm_trainer_profile(&r, trainer) && r.row_count == 0);
    CHECK_OK(rgm_trainer_profile_table(&text, trainer));
    CHECK_OK(rgm_trainer_profile_trace(&text, trainer));
    CHECK_INT(text.size, 0);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

/* ---- trace --------------------------------------------------------------------------------- */

typedef struct event {
    char name[32], category[32];
    double begin, end;
} event;

/* One event a line, as the trace is written; the first line opens the trace, the second names the
 * process. */
static int64_t read_events(event *events, int64_t most, char *text)
{
    int64_t count = 0;
    rgm_json *json;

    CHECK_OK(rgm_json_parse(&json, text, (int64_t)strlen(text), "trace")); /* as a whole */
    rgm_json_release(json);
    for (char *line = text, *next; *line != '\0'; line = next) {
        size_t size = strcspn(line, "\n");
        double ts = 0, dur = 0;

        next = line + size + (line[size] == '\n');
        line[size] = '\0';
        if (strstr(line, "\"ph\":\"X\"") == NULL)
            continue;
        if (line[size - 1] == ',')
            line[--size] = '\0';
        CHECK_OK(rgm_json_parse(&json, line, (int64_t)size, "event"));
        CHECK(count < most && rgm_json_number(&ts, rgm_json_find(json, "ts")) &&
              rgm_json_number(&dur, rgm_json_find(json, "dur")) && dur >= 0);
        snprintf(events[count].name, 32, "%s", rgm_json_text(rgm_json_find(json, "name")));
        snprintf(events[count].category, 32, "%s", rgm_json_text(rgm_json_find(json, "cat")));
        events[count].begin = ts;
        events[count++].end = ts + dur;
        rgm_json_release(json);
    }
    return count;
}

static bool inside(const event *e, const event *around)
{
    return e->begin >= around->begin - 1e-6 && e->end <= around->end + 1e-6;
}

static int64_t count_category(const event *events, int64_t count, const char *category)
{
    int64_t found = 0;

    for (int64_t i = 0; i < count; i++)
        found += strcmp(events[i].category, category) == 0;
    return found;
}

/* Whether some event of the category, and of the name if given, encloses e. */
static bool has_around(const event *events, int64_t count, const event *e, const char *category,
                       const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (strcmp(events[i].category, category) == 0 && inside(e, &events[i]) &&
            (name == NULL || strcmp(events[i].name, name) == 0))
            return true;
    return false;
}

static void spans_of_the_trace_lie_in_each_other(void **state)
{
    static event events[1000];
    plane_setup s = profiled(2, 0);
    const rgm_logs *logs;
    rgm_profile_report r;
    rgm_text text = {0};
    rgm_trainer *trainer;
    int64_t count;

    (void)state;
    CHECK_OK(open_plane(&trainer, &s));
    train_steps(trainer, 4);
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    CHECK_OK(rgm_trainer_profile_trace(&text, trainer));
    CHECK(rgm_trainer_profile(&r, trainer));
    count = read_events(events, 1000, text.data);
    CHECK_INT(count, r.events);
    CHECK_INT(count_category(events, count, "step"), 2);
    CHECK_INT(count_category(events, count, "evaluation"), 2); /* of 3 batches */
    CHECK_INT(count_category(events, count, "run"), 1);
    CHECK(count_category(events, count, "op") > 10);
    for (int64_t i = 0; i < count; i++) {
        const event *e = &events[i];

        CHECK(i == 0 || e->begin >= events[i - 1].begin);
        if (strcmp(e->category, "op") == 0)
            CHECK(has_around(events, count, e, "part", "model"));
        if (strcmp(e->category, "part") == 0)
            CHECK(has_around(events, count, e, "step", NULL) ||
                  has_around(events, count, e, "evaluation", NULL));
        if (strcmp(e->category, "evaluation") == 0)
            CHECK(has_around(events, count, e, "run", "evaluation"));
    }
    rgm_text_clear(&text);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

static void a_trace_is_as_long_as_was_said(void **state)
{
    plane_setup s = profiled(50, 0);
    rgm_profile_report r;
    rgm_trainer *trainer;

    (void)state;
    s.options.profile.max_events = 40;
    CHECK_OK(open_plane(&trainer, &s));
    train_steps(trainer, 50);
    CHECK(rgm_trainer_profile(&r, trainer));
    CHECK_INT(r.events, 40);
    CHECK(r.dropped > 40);
    CHECK_INT(r.steps, 50); /* the table counts all */
    CHECK_INT(find_row(&r, "update")->calls, 50);
    rgm_trainer_release(trainer);
    s.options.profile.max_events = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, open_plane(&trainer, &s));
    clear_plane(&s.data);
}

/* ---- runs ---------------------------------------------------------------------------------- */

static void a_profile_changes_no_bit(void **state)
{
    plane_setup a = make_plane_setup(), b = profiled(5, 1);
    rgm_trainer *plain, *watched;

    (void)state;
    CHECK_OK(open_plane(&plain, &a));
    CHECK_OK(open_plane(&watched, &b));
    train_steps(plain, 20);
    train_steps(watched, 20);
    check_same_trainer("with a profile", plain, watched);
    rgm_trainer_release(plain);
    rgm_trainer_release(watched);
    clear_plane(&a.data);
    clear_plane(&b.data);
}

static bool stop_now(void *payload)
{
    return --*(int *)payload < 0;
}

static void a_run_that_stops_leaves_what_was_recorded(void **state)
{
    const char *folder = check_fast_folder();
    char run[200];
    rgm_trainer *trainer;
    rgm_controller *c;
    const rgm_logs *logs;

    (void)state;
    for (int skip = 0; skip < 2; skip++) {
        plane_setup s = profiled(50, skip * 60);
        int steps = 7;
        rgm_controller_hooks hooks = {.should_stop = stop_now, .payload = &steps};
        rgm_controller_setup made;

        snprintf(run, sizeof run, "%s/run-%d", folder, skip);
        CHECK_OK(open_plane(&trainer, &s));
        made = (rgm_controller_setup){.trainer = trainer,
                                      .options = &s.options,
                                      .run_dir = run,
                                      .config = "test: 1\n",
                                      .hooks = &hooks};
        CHECK_OK(rgm_controller_create(&c, &made));
        CHECK_STATUS(RGM_STOPPED, rgm_controller_run(c, RGM_RUN_TRAIN, &logs));
        CHECK(file_says(run, RGM_PROFILE_FILE, "\"checkpoint\""));
        CHECK_INT(file_says(run, RGM_PROFILE_FILE, "\"matmul\""), skip == 0);
        CHECK_INT(file_says(run, "log.txt", "profile | matmul"), skip == 0);
        CHECK_INT(file_says(run, "log.txt", "no step was recorded"), skip == 1);
        rgm_controller_release(c);
        rgm_trainer_release(trainer);
        clear_plane(&s.data);
    }
}

static void a_failing_allocation_is_told(void **state)
{
    plane_setup s = profiled(2, 0);
    rgm_trainer *trainer;

    (void)state;
    CHECK_EVERY_OOM(open_plane(&trainer, &s), rgm_trainer_release(trainer));
    clear_plane(&s.data);
}

TESTS(cmocka_unit_test(rows_are_the_ops_of_the_graph_and_sum_up_to_the_steps),
      cmocka_unit_test(without_one_there_is_nothing),
      cmocka_unit_test(spans_of_the_trace_lie_in_each_other),
      cmocka_unit_test(a_trace_is_as_long_as_was_said), cmocka_unit_test(a_profile_changes_no_bit),
      cmocka_unit_test(a_run_that_stops_leaves_what_was_recorded),
      cmocka_unit_test(a_failing_allocation_is_told))
