/*
 * The sequencer: PEDL's cases by number, the rules of its section 1.2 held against a second,
 * literal implementation on random courses, and what steps of several batches add.
 */
#include <check.h>
#include <regimen/search_sequencer.h>

static rgm_sequencer *open_sequencer(int64_t batches_per_step, int64_t validation_period,
                                     int64_t checkpoint_period, rgm_checkpoint_policy policy)
{
    const rgm_sequencer_options options = {.batches_per_step = batches_per_step,
                                           .validation_period = validation_period,
                                           .checkpoint_period = checkpoint_period,
                                           .policy = policy};
    rgm_sequencer *s;

    CHECK_OK(rgm_sequencer_create(&s, &options));
    return s;
}

static const char *letters(rgm_workload_kind kind)
{
    return kind == RGM_RUN_STEP ? "S" : kind == RGM_CHECKPOINT_MODEL ? "C" : "V";
}

/* "S1 S2 V2 C2": what is given until nothing is, each completed; values: of validations in turn. */
static const char *run_all(rgm_sequencer *s, const double *values, double *best)
{
    static char course[4096];
    rgm_workload w;
    size_t size = 0;

    course[0] = '\0';
    while (rgm_sequencer_next(&w, s)) {
        bool is_best = false;

        if (w.kind == RGM_COMPUTE_VALIDATION_METRICS && values != NULL) {
            is_best = values[w.step - 1] < *best;
            *best = is_best ? values[w.step - 1] : *best;
        }
        CHECK_OK(rgm_sequencer_completed(NULL, s, &w, is_best));
        size += (size_t)snprintf(course + size, sizeof course - size, "%s%s%lld",
                                 size > 0 ? " " : "", letters(w.kind), (long long)w.step);
    }
    CHECK(rgm_sequencer_is_up_to_date(s));
    return course;
}

static rgm_workload expect(rgm_sequencer *s, rgm_workload_kind kind, int64_t step, int64_t batches)
{
    rgm_workload w;

    CHECK(rgm_sequencer_next(&w, s));
    CHECK_INT(kind, w.kind);
    CHECK_INT(step, w.step);
    CHECK_INT(batches, w.batches);
    return w;
}

static bool complete(rgm_sequencer *s, rgm_workload_kind kind, int64_t step, int64_t batches)
{
    rgm_workload w = expect(s, kind, step, batches);
    bool asked;

    CHECK_OK(rgm_sequencer_completed(&asked, s, &w, false));
    return asked;
}

/* ---- PEDL's cases -----------------------------------------------------------------------------
 */

static void case_33_requests_preclose_and_rollback(void **state)
{
    rgm_sequencer *s = open_sequencer(1, 0, 0, RGM_POLICY_NONE);
    rgm_workload w;

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 1));
    CHECK_OK(rgm_sequencer_train(s, 2));
    CHECK_OK(rgm_sequencer_checkpoint(NULL, s, 2));
    CHECK_OK(rgm_sequencer_validate(NULL, s, 2));
    CHECK(!rgm_sequencer_preclose(&w, s));
    complete(s, RGM_RUN_STEP, 1, 1);
    CHECK(rgm_sequencer_preclose(&w, s));
    CHECK(w.kind == RGM_CHECKPOINT_MODEL && w.step == 1 && w.batches == 1);
    complete(s, RGM_RUN_STEP, 2, 2);
    CHECK(complete(s, RGM_COMPUTE_VALIDATION_METRICS, 2, 2));
    CHECK(complete(s, RGM_CHECKPOINT_MODEL, 2, 2));
    CHECK(!rgm_sequencer_preclose(&w, s));
    CHECK(rgm_sequencer_is_up_to_date(s));
    for (int64_t step = 3; step <= 5; step++)
        CHECK_OK(rgm_sequencer_train(s, step));
    complete(s, RGM_RUN_STEP, 3, 3);
    complete(s, RGM_RUN_STEP, 4, 4);
    expect(s, RGM_RUN_STEP, 5, 5);
    w = rgm_sequencer_rollback(s, INT64_MAX);
    CHECK_INT(2, w.step);
    CHECK_INT(2, w.batches);
    expect(s, RGM_RUN_STEP, 3, 3);
    rgm_sequencer_release(s);
}

static void case_34_periods(void **state)
{
    rgm_sequencer *s = open_sequencer(1, 2, 3, RGM_POLICY_NONE);

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 6));
    CHECK_TEXT("S1 S2 V2 S3 C3 S4 V4 S5 S6 V6 C6", run_all(s, NULL, NULL));
    rgm_sequencer_release(s);
}

static void case_35_policy_best(void **state)
{
    const double values[] = {5, 4, 4, 3, 6};
    rgm_sequencer *s = open_sequencer(1, 1, 0, RGM_POLICY_BEST);
    double best = INFINITY;

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 5));
    CHECK_TEXT("S1 V1 C1 S2 V2 C2 S3 V3 S4 V4 C4 S5 V5", run_all(s, values, &best));
    rgm_sequencer_release(s);
}

/* The sequencer's part of it: each run begins behind the checkpoint, with the same number. */
static void case_36_runs_after_failures_begin_at_step_3(void **state)
{
    rgm_sequencer *s = open_sequencer(100, 0, 0, RGM_POLICY_NONE);

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 400));
    complete(s, RGM_RUN_STEP, 1, 100);
    complete(s, RGM_RUN_STEP, 2, 200);
    CHECK_OK(
        rgm_sequencer_completed(NULL, s, &(rgm_workload){RGM_CHECKPOINT_MODEL, 2, 200}, false));
    for (int run = 1; run <= 3; run++) {
        expect(s, RGM_RUN_STEP, 3, 300);
        CHECK_INT(2, rgm_sequencer_rollback(s, INT64_MAX).step);
    }
    rgm_sequencer_release(s);
}

/* ---- the rules, literally -----------------------------------------------------------------------
 */

enum { MOST = 64 };

/* Section 1.2 as it is written; steps are single batches. */
typedef struct literal {
    bool want[MOST][2], done[2], kept[MOST]; /* kept: there is a checkpoint */
    bool validated[MOST];
    bool late[MOST]; /* validated behind its checkpoint */
    bool asked[MOST][2], told[MOST][2];
    int count, cur, period[2];
    rgm_checkpoint_policy policy;
} literal;

static bool literal_next(rgm_workload *w, const literal *l)
{
    *w = (rgm_workload){.step = l->cur, .batches = l->cur};
    if (l->want[l->cur][0] && !l->done[0])
        w->kind = RGM_COMPUTE_VALIDATION_METRICS;
    else if (l->want[l->cur][1] && !l->done[1])
        w->kind = RGM_CHECKPOINT_MODEL;
    else if (l->cur + 1 < l->count)
        *w = (rgm_workload){RGM_RUN_STEP, l->cur + 1, l->cur + 1};
    else
        return false;
    return true;
}

static bool literal_tell(literal *l, int kind)
{
    bool tells = l->asked[l->cur][kind] && !l->told[l->cur][kind];

    l->told[l->cur][kind] = l->told[l->cur][kind] || tells;
    return tells;
}

static bool literal_complete(literal *l, rgm_workload_kind kind, bool is_best)
{
    if (kind == RGM_RUN_STEP) {
        l->cur++;
        l->done[0] = l->done[1] = l->late[l->cur] = false;
        for (int k = 0; k < 2; k++) {
            int last = l->cur;

            while (last > 0 && !l->want[last][k])
                last--;
            if (l->period[k] > 0 && l->cur - last >= l->period[k])
                l->want[l->cur][k] = true;
        }
        return false;
    }
    if (kind == RGM_CHECKPOINT_MODEL) {
        l->done[1] = l->kept[l->cur] = true;
        l->late[l->cur] = false;
        return literal_tell(l, 1);
    }
    l->done[0] = l->validated[l->cur] = true;
    l->late[l->cur] = l->done[1];
    if (l->policy == RGM_POLICY_ALL || (l->policy == RGM_POLICY_BEST && is_best))
        l->want[l->cur][1] = true;
    return literal_tell(l, 0);
}

static void literal_rollback(literal *l)
{
    if (!l->done[1]) {
        for (; l->cur > 0 && !l->kept[l->cur]; l->cur--)
            l->validated[l->cur] = false;
        l->done[0] = l->cur == 0 || l->validated[l->cur];
        l->done[1] = true;
    }
    if (l->late[l->cur]) /* ours alone: PEDL's runs kept nothing of a validation */
        l->done[0] = l->validated[l->cur] = l->late[l->cur] = false;
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 8) % below;
}

/* One random request to both; they agree on whether it can be. */
static void ask_both(rgm_sequencer *s, literal *l, uint32_t *random)
{
    int kind = (int)draw(random, 3), at = (int)draw(random, MOST / 2);
    bool can, done = false;

    if (kind == 2) {
        if (l->count >= MOST - 1)
            return;
        CHECK_OK(rgm_sequencer_train(s, l->count));
        CHECK(rgm_sequencer_train(s, l->count) == RGM_ERR_ARG);
        l->count++;
        return;
    }
    can = at >= 1 && at >= l->cur && at < l->count;
    CHECK_INT(can ? RGM_OK : RGM_ERR_ARG,
              (kind == 0 ? rgm_sequencer_validate : rgm_sequencer_checkpoint)(&done, s, at));
    if (!can)
        return;
    l->want[at][kind] = l->asked[at][kind] = true;
    CHECK_INT(at == l->cur && l->done[kind], done);
    l->told[at][kind] = l->told[at][kind] || done;
}

static rgm_sequencer *through_text(rgm_sequencer *s)
{
    rgm_sequencer *back;
    rgm_text text = {0}, again = {0};

    CHECK_OK(rgm_sequencer_save(&text, s));
    CHECK_OK(rgm_sequencer_restore(&back, text.data, text.size));
    CHECK_OK(rgm_sequencer_save(&again, back));
    CHECK_TEXT(text.data, again.data);
    rgm_text_clear(&text);
    rgm_text_clear(&again);
    rgm_sequencer_release(s);
    return back;
}

static void do_both(rgm_sequencer *s, literal *l, uint32_t *random)
{
    rgm_workload ours, theirs;
    bool any = rgm_sequencer_next(&ours, s), is_best = draw(random, 3) == 0, asked;

    CHECK_INT(literal_next(&theirs, l), any);
    CHECK_INT(!any, rgm_sequencer_is_up_to_date(s));
    if (!any)
        return;
    CHECK_INT(theirs.kind, ours.kind);
    CHECK_INT(theirs.step, ours.step);
    CHECK_INT(theirs.batches, ours.batches);
    CHECK_OK(rgm_sequencer_completed(&asked, s, &ours, is_best));
    if (ours.kind == RGM_RUN_STEP)
        literal_complete(l, ours.kind, is_best);
    else
        CHECK_INT(literal_complete(l, ours.kind, is_best), asked);
}

static void random_courses_follow_section_1_2(void **state)
{
    int64_t stepped = 0, rolled = 0;

    (void)state;
    for (uint32_t seed = 0; seed < 3000; seed++) {
        uint32_t random = seed * 977 + 1;
        literal l = {.want = {{true, true}}, .done = {true, true}, .count = 1};
        rgm_workload w;
        rgm_sequencer *s;

        l.period[0] = (int)draw(&random, 4);
        l.period[1] = (int)draw(&random, 4);
        l.policy = (rgm_checkpoint_policy)draw(&random, 3);
        s = open_sequencer(1, l.period[0], l.period[1], l.policy);
        for (int i = 0; i < 120; i++)
            switch (draw(&random, 10)) {
            case 0:
            case 1:
            case 2:
                ask_both(s, &l, &random);
                break;
            case 3: /* preclose */
                CHECK_INT(!l.done[1] || l.late[l.cur], rgm_sequencer_preclose(&w, s));
                if (!l.done[1] || l.late[l.cur]) {
                    bool asked;

                    CHECK_OK(rgm_sequencer_completed(&asked, s, &w, false));
                    CHECK_INT(literal_complete(&l, RGM_CHECKPOINT_MODEL, false), asked);
                }
                break;
            case 4:
                literal_rollback(&l);
                CHECK_INT(l.cur, rgm_sequencer_rollback(s, INT64_MAX).step);
                rolled++;
                break;
            case 5:
                s = through_text(s);
                break;
            default:
                do_both(s, &l, &random);
                stepped++;
            }
        rgm_sequencer_release(s);
    }
    CHECK(stepped > 100000 && rolled > 10000);
}

/* A trial saves when it is paused, and is validated when it goes on: what it saves then knows of
 * it, and where it is killed before, it is validated again. */
static void a_validation_behind_its_checkpoint_is_saved_or_done_again(void **state)
{
    rgm_sequencer *s = open_sequencer(1, 1, 0, RGM_POLICY_NONE);
    rgm_workload w;

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 1));
    CHECK_OK(rgm_sequencer_validate(NULL, s, 1));
    complete(s, RGM_RUN_STEP, 1, 1);
    CHECK(rgm_sequencer_preclose(&w, s));
    CHECK_OK(rgm_sequencer_completed(NULL, s, &w, false));
    CHECK(!rgm_sequencer_preclose(&w, s));
    CHECK(complete(s, RGM_COMPUTE_VALIDATION_METRICS, 1, 1));
    CHECK(rgm_sequencer_is_up_to_date(s));
    s = through_text(s);
    CHECK_INT(1, rgm_sequencer_rollback(s, INT64_MAX).step);   /* killed */
    CHECK(!complete(s, RGM_COMPUTE_VALIDATION_METRICS, 1, 1)); /* told before */
    CHECK(rgm_sequencer_preclose(&w, s));
    CHECK_INT(1, w.step);
    CHECK_OK(rgm_sequencer_completed(NULL, s, &w, false));
    CHECK(!rgm_sequencer_preclose(&w, s));
    CHECK_INT(1, rgm_sequencer_rollback(s, INT64_MAX).step);
    CHECK(rgm_sequencer_is_up_to_date(s));
    rgm_sequencer_release(s);
}

/* ---- steps of several batches -------------------------------------------------------------------
 */

static void a_step_ends_where_something_is_due(void **state)
{
    rgm_sequencer *s = open_sequencer(100, 150, 0, RGM_POLICY_NONE);

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 320));
    CHECK_OK(rgm_sequencer_validate(NULL, s, 320));
    complete(s, RGM_RUN_STEP, 1, 100);
    complete(s, RGM_RUN_STEP, 2, 150); /* the period */
    CHECK(!complete(s, RGM_COMPUTE_VALIDATION_METRICS, 2, 150));
    complete(s, RGM_RUN_STEP, 3, 250);
    complete(s, RGM_RUN_STEP, 4, 300);
    CHECK(!complete(s, RGM_COMPUTE_VALIDATION_METRICS, 4, 300));
    CHECK(complete(s, RGM_RUN_STEP, 5, 320)); /* the length */
    CHECK(complete(s, RGM_COMPUTE_VALIDATION_METRICS, 5, 320));
    CHECK_OK(rgm_sequencer_train(s, 500));
    CHECK(rgm_sequencer_validate(NULL, s, 319) == RGM_ERR_ARG);
    CHECK(rgm_sequencer_validate(NULL, s, 501) == RGM_ERR_ARG);
    expect(s, RGM_RUN_STEP, 6, 420);
    CHECK(rgm_sequencer_validate(NULL, s, 400) == RGM_ERR_ARG);
    CHECK_MESSAGE("in the middle of step 6");
    CHECK_OK(rgm_sequencer_validate(NULL, s, 450)); /* beyond the step under way */
    complete(s, RGM_RUN_STEP, 6, 420);
    complete(s, RGM_RUN_STEP, 7, 450);
    CHECK(complete(s, RGM_COMPUTE_VALIDATION_METRICS, 7, 450));
    rgm_sequencer_release(s);
}

/* What comes in between later does not move the ends of steps that were run. */
static void steps_that_are_run_again_end_where_they_did(void **state)
{
    rgm_sequencer *s = open_sequencer(100, 0, 0, RGM_POLICY_NONE);
    rgm_workload w;
    bool done;

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 130));
    CHECK_OK(rgm_sequencer_validate(NULL, s, 130));
    complete(s, RGM_RUN_STEP, 1, 100);
    complete(s, RGM_RUN_STEP, 2, 130);
    CHECK(complete(s, RGM_COMPUTE_VALIDATION_METRICS, 2, 130));
    CHECK_OK(rgm_sequencer_train(s, 400));
    complete(s, RGM_RUN_STEP, 3, 230);
    w = rgm_sequencer_rollback(s, INT64_MAX);
    CHECK_INT(0, w.step);
    CHECK_OK(rgm_sequencer_checkpoint(&done, s, 130));
    CHECK(!done);
    CHECK(rgm_sequencer_checkpoint(&done, s, 200) == RGM_ERR_ARG);
    CHECK(!complete(s, RGM_RUN_STEP, 1, 100));
    CHECK(!complete(s, RGM_RUN_STEP, 2, 130));
    CHECK(!complete(s, RGM_COMPUTE_VALIDATION_METRICS, 2, 130)); /* told already */
    CHECK(complete(s, RGM_CHECKPOINT_MODEL, 2, 130));
    complete(s, RGM_RUN_STEP, 3, 230);
    complete(s, RGM_RUN_STEP, 4, 330);
    w = rgm_sequencer_rollback(s, INT64_MAX);
    CHECK_INT(2, w.step);
    w = rgm_sequencer_rollback(s, 129); /* its checkpoint is gone */
    CHECK_INT(0, w.step);
    rgm_sequencer_release(s);
}

static void a_checkpoint_that_is_there_answers_a_request(void **state)
{
    rgm_sequencer *s = open_sequencer(10, 0, 0, RGM_POLICY_NONE);
    rgm_workload w;
    bool done;

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 10));
    complete(s, RGM_RUN_STEP, 1, 10);
    CHECK(rgm_sequencer_preclose(&w, s));
    CHECK_OK(rgm_sequencer_completed(&done, s, &w, false));
    CHECK(!done);
    CHECK_OK(rgm_sequencer_checkpoint(&done, s, 10));
    CHECK(done);
    CHECK(rgm_sequencer_is_up_to_date(s));
    rgm_sequencer_release(s);
}

static void an_initial_validation_comes_first(void **state)
{
    const rgm_sequencer_options options = {
        .batches_per_step = 5, .initial_validation = true, .policy = RGM_POLICY_ALL};
    rgm_sequencer *s;
    rgm_workload w;

    (void)state;
    CHECK_OK(rgm_sequencer_create(&s, &options));
    CHECK(!rgm_sequencer_preclose(&w, s));
    CHECK(!complete(s, RGM_COMPUTE_VALIDATION_METRICS, 0, 0));
    CHECK(rgm_sequencer_is_up_to_date(s)); /* no checkpoint before the first step */
    CHECK_OK(rgm_sequencer_train(s, 5));
    complete(s, RGM_RUN_STEP, 1, 5);
    rgm_sequencer_rollback(s, INT64_MAX);
    complete(s, RGM_RUN_STEP, 1, 5); /* and not validated again */
    rgm_sequencer_release(s);
}

static void what_was_not_due_is_refused(void **state)
{
    rgm_sequencer *s = open_sequencer(10, 0, 0, RGM_POLICY_NONE);
    const rgm_workload wrong[] = {{RGM_RUN_STEP, 1, 11},
                                  {RGM_RUN_STEP, 2, 10},
                                  {RGM_COMPUTE_VALIDATION_METRICS, 0, 0},
                                  {RGM_CHECKPOINT_MODEL, 0, 0},
                                  {RGM_CHECKPOINT_MODEL, 1, 10},
                                  {RGM_TERMINATE, 1, 10},
                                  {(rgm_workload_kind)9, 1, 10}};

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 20));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(rgm_sequencer_completed(NULL, s, &wrong[i], false) == RGM_ERR_ARG);
    complete(s, RGM_RUN_STEP, 1, 10);
    rgm_sequencer_release(s);
}

/* ---- saved state ------------------------------------------------------------------------------
 */

static void damaged_states_are_refused(void **state)
{
    static const char *const bad[] = {
        "", "{}", "[]", "{\"version\":1}",
        "{\"version\":3,\"batches_per_step\":1,\"validation_period\":0,\"checkpoint_period\":0,"
        "\"initial_validation\":0,\"policy\":0,\"target\":0,\"at\":0,\"under_way\":0,"
        "\"steps\":\"0:15\",\"lengths\":\"\"}"};
    static const char *const states[] = {/* target, at, under_way, steps, lengths */
                                         "0|0|0||",
                                         "0|1|0|0:15|",
                                         "0|-1|0|0:15|",
                                         "0|0|0|5:15|",
                                         "0|0|0|0:16|",
                                         "0|0|0|0:3|",
                                         "5|0|0|0:15 5|",
                                         "5|0|0|0:15 5:0 5:0|",
                                         "5|0|0|0:15 4:0x|",
                                         "4|0|0|0:15 5:0|",
                                         "4|0|0|0:15|5:1",
                                         "9|0|10|0:15|9:1",
                                         "9|0|0|0:15|9:64",
                                         "9|0|0|0:15|0:1 9:1",
                                         "9|0|0|0:15|9:1 8:1",
                                         "9|0|0|0:15|nine:1",
                                         "9999999999999999|0|0|0:15|"};
    rgm_sequencer *s;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(rgm_sequencer_restore(&s, bad[i], (int64_t)strlen(bad[i])) ==
              (i == 4 ? RGM_ERR_VERSION : RGM_ERR_FORMAT));
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        char part[5][64] = {"", "", "", "", ""}, text[600];
        const char *p = states[i];

        for (int k = 0; k < 5; k++) {
            size_t size = strcspn(p, "|");

            snprintf(part[k], sizeof part[k], "%.*s", (int)size, p);
            p += size + (p[size] == '|');
        }
        snprintf(text, sizeof text,
                 "{\"version\":1,\"batches_per_step\":1,\"validation_period\":0,"
                 "\"checkpoint_period\":0,\"initial_validation\":0,\"policy\":0,\"target\":%s,"
                 "\"at\":%s,\"under_way\":%s,\"steps\":\"%s\",\"lengths\":\"%s\"}",
                 part[0], part[1], part[2], part[3], part[4]);
        if (rgm_sequencer_restore(&s, text, (int64_t)strlen(text)) != RGM_ERR_FORMAT)
            fail_msg("taken: %s", text);
    }
}

/* A state of version 1 is read, and what is written says that it is of another. */
static void a_state_of_before_is_read(void **state)
{
    static const char before[] =
        "{\"version\":1,\"batches_per_step\":10,\"validation_period\":0,\"checkpoint_period\":0,"
        "\"initial_validation\":0,\"policy\":0,\"target\":20,\"at\":1,\"under_way\":0,"
        "\"steps\":\"0:15 10:15\",\"lengths\":\"20:4\"}";
    rgm_text text = {0};
    rgm_sequencer *s;
    rgm_workload w;

    (void)state;
    CHECK_OK(rgm_sequencer_restore(&s, before, (int64_t)strlen(before)));
    CHECK(rgm_sequencer_next(&w, s));
    CHECK(w.kind == RGM_RUN_STEP && w.step == 2 && w.batches == 20);
    CHECK_OK(rgm_sequencer_save(&text, s));
    CHECK(strstr(text.data, "{\"version\":2,") == text.data);
    CHECK(strstr(text.data, "0:15 10:15") != NULL);
    rgm_text_clear(&text);
    rgm_sequencer_release(s);
}

static rgm_workload next_of(rgm_sequencer *s)
{
    rgm_workload w = {.kind = RGM_TERMINATE};

    rgm_sequencer_next(&w, s);
    return w;
}

/* Asked for 400 batches, it has done 120 when it is told: in the middle of its third step, whose
 * validation is the last thing that it does; with nobody at it, where it stands. */
static void a_trial_that_is_ended_validates_where_it_is(void **state)
{
    const rgm_sequencer_options options = {.batches_per_step = 60};

    (void)state;
    for (int running = 0; running < 2; running++) {
        rgm_sequencer *s, *back;
        rgm_text text = {0};
        int64_t end;
        bool asked;

        CHECK_OK(rgm_sequencer_create(&s, &options));
        CHECK_OK(rgm_sequencer_train(s, 400));
        CHECK_OK(rgm_sequencer_validate(NULL, s, 400));
        for (int i = 0; i < 2; i++) {
            rgm_workload w = next_of(s);
            CHECK_OK(rgm_sequencer_completed(NULL, s, &w, false));
        }
        CHECK_INT(180, next_of(s).batches);
        CHECK_OK(rgm_sequencer_end(&end, s, running == 1));
        CHECK_INT(running == 1 ? 180 : 120, end);
        CHECK_OK(rgm_sequencer_save(&text, s));
        CHECK_OK(rgm_sequencer_restore(&back, text.data, text.size));
        for (rgm_workload w; rgm_sequencer_next(&w, back);) {
            CHECK(w.batches == end && w.kind != RGM_CHECKPOINT_MODEL);
            CHECK_OK(rgm_sequencer_completed(&asked, back, &w, false));
            CHECK(!asked);
        }
        CHECK_INT(end, rgm_sequencer_batches(back));
        CHECK_INT(0, rgm_sequencer_rollback(back, INT64_MAX).batches); /* it comes there again */
        for (rgm_workload w; rgm_sequencer_next(&w, back);)
            CHECK_OK(rgm_sequencer_completed(NULL, back, &w, false));
        CHECK_INT(end, rgm_sequencer_batches(back));
        rgm_text_clear(&text);
        rgm_sequencer_release(back);
        rgm_sequencer_release(s);
    }
}

static void a_trial_that_has_done_nothing_ends_at_once(void **state)
{
    const rgm_sequencer_options options = {.batches_per_step = 60};
    rgm_sequencer *s;
    int64_t end;

    (void)state;
    CHECK_OK(rgm_sequencer_create(&s, &options));
    CHECK_OK(rgm_sequencer_train(s, 400));
    CHECK_OK(rgm_sequencer_end(&end, s, false));
    CHECK(end == 0 && rgm_sequencer_is_up_to_date(s));
    rgm_sequencer_release(s);
}

static rgm_status course(void)
{
    const rgm_sequencer_options options = {.batches_per_step = 1, .validation_period = 1};
    rgm_status status = RGM_OK;
    rgm_sequencer *s = NULL, *back = NULL;
    rgm_text text = {0};
    rgm_workload w;

    RGM_GO(rgm_sequencer_create(&s, &options));
    for (int64_t i = 1; i <= 40; i++) {
        RGM_GO(rgm_sequencer_train(s, i));
        RGM_GO(rgm_sequencer_validate(NULL, s, i));
    }
    while (rgm_sequencer_next(&w, s))
        RGM_GO(rgm_sequencer_completed(NULL, s, &w, true));
    RGM_GO(rgm_sequencer_save(&text, s));
    RGM_GO(rgm_sequencer_restore(&back, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_sequencer_release(back);
    rgm_sequencer_release(s);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(course(), (void)0);
}

static void a_program_says_where_steps_end(void **state)
{
    rgm_sequencer *s = open_sequencer(2, 0, 0, RGM_POLICY_NONE), *again;
    rgm_text text = {0};
    bool asked;

    (void)state;
    CHECK_OK(rgm_sequencer_train(s, 9));
    CHECK_OK(rgm_sequencer_train(s, 20));
    CHECK_OK(rgm_sequencer_validate(NULL, s, 9));
    CHECK_INT(9, rgm_sequencer_reach(s));
    CHECK_STATUS(RGM_ERR_ARG, rgm_sequencer_trained(&asked, s, 10));
    CHECK_STATUS(RGM_ERR_ARG, rgm_sequencer_trained(&asked, s, 0));
    CHECK_OK(rgm_sequencer_trained(&asked, s, 5));
    CHECK(!asked);
    CHECK_OK(rgm_sequencer_completed(NULL, s, &(rgm_workload){RGM_CHECKPOINT_MODEL, 1, 5}, false));
    CHECK_OK(rgm_sequencer_trained(&asked, s, 6));
    CHECK_INT(5, rgm_sequencer_rollback(s, INT64_MAX).batches);
    CHECK_OK(rgm_sequencer_trained(&asked, s, 8)); /* it ends elsewhere than before */
    CHECK_OK(rgm_sequencer_save(&text, s));
    CHECK_OK(rgm_sequencer_restore(&again, text.data, text.size));
    CHECK_OK(rgm_sequencer_trained(&asked, again, 9));
    CHECK(asked);
    expect(again, RGM_COMPUTE_VALIDATION_METRICS, 3, 9);
    CHECK_STATUS(RGM_ERR_ARG, rgm_sequencer_trained(&asked, again, 10)); /* a validation is due */
    complete(again, RGM_COMPUTE_VALIDATION_METRICS, 3, 9);
    CHECK_INT(20, rgm_sequencer_reach(again));
    CHECK_OK(rgm_sequencer_trained(NULL, again, 20));
    CHECK_INT(20, rgm_sequencer_reach(again));
    CHECK(rgm_sequencer_is_up_to_date(again));
    rgm_text_clear(&text);
    rgm_sequencer_release(again);
    rgm_sequencer_release(s);
}

TESTS(cmocka_unit_test(a_program_says_where_steps_end),
      cmocka_unit_test(case_33_requests_preclose_and_rollback), cmocka_unit_test(case_34_periods),
      cmocka_unit_test(case_35_policy_best),
      cmocka_unit_test(case_36_runs_after_failures_begin_at_step_3),
      cmocka_unit_test(random_courses_follow_section_1_2),
      cmocka_unit_test(a_validation_behind_its_checkpoint_is_saved_or_done_again),
      cmocka_unit_test(a_step_ends_where_something_is_due),
      cmocka_unit_test(steps_that_are_run_again_end_where_they_did),
      cmocka_unit_test(a_checkpoint_that_is_there_answers_a_request),
      cmocka_unit_test(an_initial_validation_comes_first),
      cmocka_unit_test(what_was_not_due_is_refused), cmocka_unit_test(damaged_states_are_refused),
      cmocka_unit_test(a_state_of_before_is_read),
      cmocka_unit_test(a_trial_that_is_ended_validates_where_it_is),
      cmocka_unit_test(a_trial_that_has_done_nothing_ends_at_once),
      cmocka_unit_test(memory_that_runs_out_is_told))
