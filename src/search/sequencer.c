/*
 * What a trial does next. Steps are made as they are run, for where they end depends on what is
 * asked for until then; those that were run once keep their ends, so that a rollback runs the same
 * steps again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "search_internal.h"

const char *const rgm_workload_names[] = {"RUN_STEP", "COMPUTE_VALIDATION_METRICS",
                                          "CHECKPOINT_MODEL", "TERMINATE", NULL};

enum { VALIDATION, CHECKPOINT, KINDS }; /* what can be done at a step's end */

/* The end of a step that was run, now or before a rollback; [0] is the beginning. */
typedef struct step {
    int64_t batches;
    bool wanted[KINDS], done[KINDS];
    bool late; /* it was validated behind its checkpoint, which knows nothing of that */
} step;

/* A length that the searcher asked for. */
typedef struct asked_length {
    int64_t batches;
    bool trained, trained_told; /* it is where a training that was asked for ends */
    bool asked[KINDS], told[KINDS];
} asked_length;

struct rgm_sequencer {
    rgm_sequencer_options options;
    step *steps;
    int64_t count, capacity, at; /* steps[at] is done, those behind it were before a rollback */
    asked_length *lengths;       /* ascending */
    int64_t length_count, length_capacity;
    int64_t target;
    int64_t under_way; /* where the step that was given out ends; 0: none was */
};

/* ---- creation ------------------------------------------------------------------------------ */

static rgm_status check_options(const rgm_sequencer_options *o)
{
    if (o->batches_per_step < 1 || o->batches_per_step > RGMI_MOST_BATCHES)
        return RGM_FAIL(RGM_ERR_ARG, "steps of %lld batches", (long long)o->batches_per_step);
    if (o->validation_period < 0 || o->validation_period > RGMI_MOST_BATCHES ||
        o->checkpoint_period < 0 || o->checkpoint_period > RGMI_MOST_BATCHES)
        return RGM_FAIL(RGM_ERR_ARG, "periods of %lld and %lld batches",
                        (long long)o->validation_period, (long long)o->checkpoint_period);
    if ((int)o->policy < RGM_POLICY_BEST || (int)o->policy > RGM_POLICY_NONE)
        return RGM_FAIL(RGM_ERR_ARG, "checkpoint policy %d", (int)o->policy);
    return RGM_OK;
}

rgm_status rgm_sequencer_create(rgm_sequencer **out, const rgm_sequencer_options *options)
{
    rgm_status status = RGM_OK;
    rgm_sequencer *s = NULL;

    *out = NULL;
    RGM_GO(check_options(options));
    RGM_GO(RGM_NEW(s, 1));
    s->options = *options;
    RGM_GO(RGM_RESERVE(s->steps, s->capacity, 1));
    s->steps[s->count++] =
        (step){.wanted = {true, true}, .done = {!options->initial_validation, true}};
    *out = s;
    s = NULL;
done:
    rgm_sequencer_release(s);
    return status;
}

void rgm_sequencer_release(rgm_sequencer *s)
{
    if (s == NULL)
        return;
    rgm_free(s->steps);
    rgm_free(s->lengths);
    rgm_free(s);
}

/* ---- lengths ------------------------------------------------------------------------------- */

/* The first length of at least `batches`; length_count: there is none. */
static int64_t lower_bound(const rgm_sequencer *s, int64_t batches)
{
    int64_t low = 0, high = s->length_count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (s->lengths[middle].batches < batches)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static asked_length *find_length(const rgm_sequencer *s, int64_t batches)
{
    int64_t i = lower_bound(s, batches);

    return i < s->length_count && s->lengths[i].batches == batches ? &s->lengths[i] : NULL;
}

static rgm_status enter_length(asked_length **out, rgm_sequencer *s, int64_t batches)
{
    int64_t i = lower_bound(s, batches);

    *out = find_length(s, batches);
    if (*out != NULL)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(s->lengths, s->length_capacity, s->length_count + 1));
    memmove(s->lengths + i + 1, s->lengths + i, (size_t)(s->length_count - i) * sizeof *s->lengths);
    s->lengths[i] = (asked_length){.batches = batches};
    s->length_count++;
    *out = &s->lengths[i];
    return RGM_OK;
}

/* The first step that ends at `batches` or behind; count: none has. */
static int64_t step_to(const rgm_sequencer *s, int64_t batches)
{
    int64_t low = 0, high = s->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (s->steps[middle].batches < batches)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- what is asked for --------------------------------------------------------------------- */

rgm_status rgm_sequencer_train(rgm_sequencer *s, int64_t batches)
{
    asked_length *length;

    if (batches <= s->target || batches > RGMI_MOST_BATCHES)
        return RGM_FAIL(RGM_ERR_ARG, "to train to %lld batches, when %lld were asked for before",
                        (long long)batches, (long long)s->target);
    RGM_TRY(enter_length(&length, s, batches));
    length->trained = true;
    s->target = batches;
    return RGM_OK;
}

static rgm_status check_place(const rgm_sequencer *s, int64_t batches, const char *what)
{
    int64_t now = s->steps[s->at].batches, i = step_to(s, batches);

    if (batches < 1 || batches < now)
        return RGM_FAIL(RGM_ERR_ARG, "to %s at %lld batches, when the trial has done %lld", what,
                        (long long)batches, (long long)now);
    if (batches > s->target)
        return RGM_FAIL(RGM_ERR_ARG,
                        "to %s at %lld batches, when training to %lld is all that was asked for",
                        what, (long long)batches, (long long)s->target);
    if ((batches > now && batches < s->under_way) ||
        (i < s->count && s->steps[i].batches != batches))
        return RGM_FAIL(RGM_ERR_ARG, "to %s at %lld batches, in the middle of step %lld", what,
                        (long long)batches, (long long)(i < s->count ? i : s->at + 1));
    return RGM_OK;
}

static rgm_status ask(bool *done, rgm_sequencer *s, int64_t batches, int kind, const char *what)
{
    asked_length *length;
    int64_t i = step_to(s, batches);
    bool there = false;

    RGM_TRY(check_place(s, batches, what));
    RGM_TRY(enter_length(&length, s, batches));
    length->asked[kind] = true;
    if (i < s->count) {
        s->steps[i].wanted[kind] = true;
        there = s->steps[i].done[kind]; /* of steps that are undone none is */
    }
    length->told[kind] = length->told[kind] || there;
    if (done != NULL)
        *done = there;
    return RGM_OK;
}

rgm_status rgm_sequencer_validate(bool *done, rgm_sequencer *s, int64_t batches)
{
    return ask(done, s, batches, VALIDATION, "validate");
}

rgm_status rgm_sequencer_checkpoint(bool *done, rgm_sequencer *s, int64_t batches)
{
    return ask(done, s, batches, CHECKPOINT, "make a checkpoint");
}

/* ---- what is next -------------------------------------------------------------------------- */

/* Batches at the last step that wants one, the beginning counted. */
static int64_t last_wanted(const rgm_sequencer *s, int kind)
{
    int64_t i = s->at;

    while (i > 0 && !s->steps[i].wanted[kind])
        i--;
    return s->steps[i].batches;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t period_of(const rgm_sequencer *s, int kind)
{
    return kind == VALIDATION ? s->options.validation_period : s->options.checkpoint_period;
}

int64_t rgm_sequencer_reach(const rgm_sequencer *s)
{
    int64_t now = s->steps[s->at].batches, i = lower_bound(s, now + 1);
    int64_t end = s->target > now ? s->target : now;

    if (i < s->length_count)
        end = least(end, s->lengths[i].batches);
    for (int kind = 0; kind < KINDS; kind++) {
        int64_t period = period_of(s, kind), due;

        if (period == 0)
            continue;
        due = last_wanted(s, kind) + period;
        if (due > now)
            end = least(end, due);
    }
    return end;
}

/* Where the step behind the last one ends: after a rollback where it did. */
static int64_t next_end(const rgm_sequencer *s)
{
    if (s->at + 1 < s->count)
        return s->steps[s->at + 1].batches;
    return least(s->steps[s->at].batches + s->options.batches_per_step, rgm_sequencer_reach(s));
}

static bool is_wanted(const rgm_sequencer *s, int kind)
{
    return s->steps[s->at].wanted[kind] && !s->steps[s->at].done[kind];
}

static bool find_next(rgm_workload *out, const rgm_sequencer *s)
{
    *out = (rgm_workload){.step = s->at, .batches = s->steps[s->at].batches};
    if (is_wanted(s, VALIDATION)) {
        out->kind = RGM_COMPUTE_VALIDATION_METRICS;
    } else if (is_wanted(s, CHECKPOINT)) {
        out->kind = RGM_CHECKPOINT_MODEL;
    } else if (out->batches < s->target) {
        out->kind = RGM_RUN_STEP;
        out->step = s->at + 1;
        out->batches = next_end(s);
    } else {
        return false;
    }
    return true;
}

bool rgm_sequencer_next(rgm_workload *out, rgm_sequencer *s)
{
    bool any = find_next(out, s);

    s->under_way = any && out->kind == RGM_RUN_STEP ? out->batches : 0;
    return any;
}

bool rgm_sequencer_is_up_to_date(const rgm_sequencer *s)
{
    rgm_workload next;

    return !find_next(&next, s);
}

bool rgm_sequencer_preclose(rgm_workload *out, const rgm_sequencer *s)
{
    *out = (rgm_workload){RGM_CHECKPOINT_MODEL, s->at, s->steps[s->at].batches};
    return !s->steps[s->at].done[CHECKPOINT] || s->steps[s->at].late;
}

/* ---- what was done ------------------------------------------------------------------------- */

static bool is_same(const rgm_workload *a, const rgm_workload *b)
{
    return a->kind == b->kind && a->step == b->step && a->batches == b->batches;
}

static rgm_status unexpected(const rgm_sequencer *s, const rgm_workload *done)
{
    rgm_workload next;
    bool any = find_next(&next, s);

    return RGM_FAIL(RGM_ERR_ARG, "%s of step %lld at %lld batches was done, but %s%s was due",
                    done->kind >= RGM_RUN_STEP && done->kind <= RGM_TERMINATE
                        ? rgm_workload_names[done->kind]
                        : "a workload",
                    (long long)done->step, (long long)done->batches, any ? "another, " : "nothing",
                    any ? rgm_workload_names[next.kind] : "");
}

static rgm_status step_done(bool *asked, rgm_sequencer *s, int64_t batches)
{
    asked_length *length = find_length(s, batches);
    step *now;

    if (s->at + 1 == s->count) {
        RGM_TRY(RGM_RESERVE(s->steps, s->capacity, s->count + 1));
        s->steps[s->count++] = (step){.batches = batches};
    }
    s->at++;
    now = &s->steps[s->at];
    now->late = false;
    for (int kind = 0; kind < KINDS; kind++) {
        int64_t period = period_of(s, kind);

        now->done[kind] = false;
        if (length != NULL && length->asked[kind])
            now->wanted[kind] = true;
        if (period > 0 && batches - last_wanted(s, kind) >= period)
            now->wanted[kind] = true;
    }
    *asked = length != NULL && length->trained && !length->trained_told;
    if (length != NULL)
        length->trained_told = length->trained_told || length->trained;
    s->under_way = 0;
    return RGM_OK;
}

/* Whether the searcher is to be told of it. */
static bool tell(rgm_sequencer *s, int64_t batches, int kind)
{
    asked_length *length = find_length(s, batches);
    bool tells = length != NULL && length->asked[kind] && !length->told[kind];

    if (tells)
        length->told[kind] = true;
    return tells;
}

rgm_status rgm_sequencer_completed(bool *asked, rgm_sequencer *s, const rgm_workload *workload,
                                   bool is_best)
{
    rgm_checkpoint_policy policy = s->options.policy;
    bool tells = false;
    rgm_workload next;

    if (workload->kind == RGM_CHECKPOINT_MODEL) {
        int64_t i = workload->step;

        if (i < 1 || i > s->at || s->steps[i].batches != workload->batches)
            return unexpected(s, workload);
        s->steps[i].done[CHECKPOINT] = true;
        s->steps[i].late = false;
        tells = tell(s, workload->batches, CHECKPOINT);
    } else if (!find_next(&next, s) || !is_same(&next, workload)) {
        return unexpected(s, workload);
    } else if (workload->kind == RGM_RUN_STEP) {
        RGM_TRY(step_done(&tells, s, workload->batches));
    } else {
        step *now = &s->steps[s->at];

        now->done[VALIDATION] = true;
        now->late = s->at > 0 && now->done[CHECKPOINT];
        if (policy == RGM_POLICY_ALL || (policy == RGM_POLICY_BEST && is_best))
            now->wanted[CHECKPOINT] = true;
        tells = tell(s, workload->batches, VALIDATION);
    }
    if (asked != NULL)
        *asked = tells;
    return RGM_OK;
}

rgm_status rgm_sequencer_trained(bool *asked, rgm_sequencer *s, int64_t batches)
{
    int64_t reach = rgm_sequencer_reach(s);
    bool tells;
    rgm_workload next;

    if (!find_next(&next, s) || next.kind != RGM_RUN_STEP || batches <= s->steps[s->at].batches ||
        batches > reach)
        return RGM_FAIL(RGM_ERR_ARG,
                        "a step to %lld batches was done behind %lld, when %lld was as far as it "
                        "could go",
                        (long long)batches, (long long)s->steps[s->at].batches, (long long)reach);
    if (s->at + 1 < s->count && s->steps[s->at + 1].batches != batches)
        s->count = s->at + 1; /* before a rollback it ended elsewhere, and so did those behind */
    RGM_TRY(step_done(&tells, s, batches));
    if (asked != NULL)
        *asked = tells;
    return RGM_OK;
}

rgm_workload rgm_sequencer_rollback(rgm_sequencer *s, int64_t most)
{
    while (s->at > 0 && !(s->steps[s->at].done[CHECKPOINT] && s->steps[s->at].batches <= most)) {
        memset(s->steps[s->at].done, 0, sizeof s->steps[s->at].done);
        s->at--;
    }
    if (s->steps[s->at].late) /* what it found out went with the process */
        s->steps[s->at].done[VALIDATION] = s->steps[s->at].late = false;
    s->under_way = 0;
    return (rgm_workload){RGM_RUN_STEP, s->at, s->steps[s->at].batches};
}

rgm_status rgm_sequencer_end(int64_t *end, rgm_sequencer *s, bool is_running)
{
    int64_t now = s->steps[s->at].batches;
    asked_length *length;
    rgm_workload next;
    bool goes_on = is_running && find_next(&next, s) && next.kind == RGM_RUN_STEP;

    *end = goes_on ? next.batches : now;
    s->length_count = lower_bound(s, *end + 1);
    s->count = least(s->count, s->at + 1 + goes_on);
    s->target = *end;
    s->under_way = goes_on ? *end : 0;
    if (*end == 0)
        return RGM_OK;
    for (int64_t i = 0; i < s->length_count; i++) /* of which nobody waits for an answer any more */
        s->lengths[i].trained_told = s->lengths[i].told[0] = s->lengths[i].told[1] = true;
    RGM_TRY(enter_length(&length, s, *end));
    length->asked[VALIDATION] = length->told[VALIDATION] = true;
    if (!goes_on)
        s->steps[s->at].wanted[VALIDATION] = true;
    return RGM_OK;
}

int64_t rgm_sequencer_steps(const rgm_sequencer *s)
{
    return s->at;
}

int64_t rgm_sequencer_batches(const rgm_sequencer *s)
{
    return s->steps[s->at].batches;
}

int64_t rgm_sequencer_target(const rgm_sequencer *s)
{
    return s->target;
}

/* ---- saved and restored -------------------------------------------------------------------- */

/* 1: perhaps without `late`; a program that reads only that would take a 5th bit for damage. */
enum { OLDEST_VERSION = 1, VERSION = 2, STEP_BITS = 5, LENGTH_BITS = 6 };

static int step_bits(const step *p)
{
    return p->wanted[0] | p->wanted[1] << 1 | p->done[0] << 2 | p->done[1] << 3 | p->late << 4;
}

static int length_bits(const asked_length *p)
{
    return p->trained | p->trained_told << 1 | p->asked[0] << 2 | p->asked[1] << 3 |
           p->told[0] << 4 | p->told[1] << 5;
}

/* Lists are texts of "batches:bits", for all that they have to be is read back. */
rgm_status rgm_sequencer_save(rgm_text *out, const rgm_sequencer *s)
{
    const rgm_sequencer_options *o = &s->options;

    RGM_TRY(rgm_text_printf(
        out,
        "{\"version\":%d,\"batches_per_step\":%lld,\"validation_period\":%lld,"
        "\"checkpoint_period\":%lld,\"initial_validation\":%d,\"policy\":%d,\"target\":%lld,"
        "\"at\":%lld,\"under_way\":%lld,\"steps\":\"",
        VERSION, (long long)o->batches_per_step, (long long)o->validation_period,
        (long long)o->checkpoint_period, o->initial_validation, (int)o->policy,
        (long long)s->target, (long long)s->at, (long long)s->under_way));
    for (int64_t i = 0; i < s->count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%lld:%d", i > 0 ? " " : "", (long long)s->steps[i].batches,
                                step_bits(&s->steps[i])));
    RGM_TRY(rgm_text_printf(out, "\",\"lengths\":\""));
    for (int64_t i = 0; i < s->length_count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%lld:%d", i > 0 ? " " : "",
                                (long long)s->lengths[i].batches, length_bits(&s->lengths[i])));
    return rgm_text_printf(out, "\"}");
}

static rgm_status damaged(const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "a sequencer's state is damaged: %s", what);
}

/* The next "batches:bits" of a list, behind the one before; RGM_END behind the last. */
static rgm_status next_pair(int64_t *batches, int *bits, const char **text, int64_t before,
                            int bit_count)
{
    char *end;
    long long number;
    unsigned long flags;

    if (**text == '\0')
        return RGM_END;
    errno = 0;
    number = strtoll(*text, &end, 10);
    if (end == *text || *end != ':' || errno != 0 || number <= before || number > RGMI_MOST_BATCHES)
        return damaged("batches that do not grow");
    *text = end + 1;
    flags = strtoul(*text, &end, 10);
    if (end == *text || (*end != ' ' && *end != '\0') || flags >= 1ul << bit_count)
        return damaged("unknown flags");
    *text = *end == ' ' ? end + 1 : end;
    *batches = number;
    *bits = (int)flags;
    return RGM_OK;
}

static rgm_status read_steps(rgm_sequencer *s, const char *text)
{
    int64_t batches, before = -1;
    rgm_status status;
    int bits;

    s->count = 0;
    while ((status = next_pair(&batches, &bits, &text, before, STEP_BITS)) == RGM_OK) {
        RGM_TRY(RGM_RESERVE(s->steps, s->capacity, s->count + 1));
        s->steps[s->count++] = (step){.batches = batches,
                                      .wanted = {(bits & 1) != 0, (bits & 2) != 0},
                                      .done = {(bits & 4) != 0, (bits & 8) != 0},
                                      .late = (bits & 16) != 0};
        before = batches;
    }
    return status == RGM_END ? RGM_OK : status;
}

static rgm_status read_lengths(rgm_sequencer *s, const char *text)
{
    int64_t batches, before = 0;
    rgm_status status;
    int bits;

    while ((status = next_pair(&batches, &bits, &text, before, LENGTH_BITS)) == RGM_OK) {
        RGM_TRY(RGM_RESERVE(s->lengths, s->length_capacity, s->length_count + 1));
        s->lengths[s->length_count++] =
            (asked_length){.batches = batches,
                           .trained = (bits & 1) != 0,
                           .trained_told = (bits & 2) != 0,
                           .asked = {(bits & 4) != 0, (bits & 8) != 0},
                           .told = {(bits & 16) != 0, (bits & 32) != 0}};
        before = batches;
    }
    return status == RGM_END ? RGM_OK : status;
}

/* What the rest of this file counts on. */
static rgm_status check_state(const rgm_sequencer *s)
{
    const step *first = s->steps;

    if (s->count < 1 || first->batches != 0 || !first->wanted[0] || !first->wanted[1] ||
        !first->done[CHECKPOINT])
        return damaged("it does not begin at 0");
    if (s->at < 0 || s->at >= s->count)
        return damaged("it stands at no step");
    if (s->target < s->steps[s->count - 1].batches || s->target > RGMI_MOST_BATCHES ||
        (s->length_count > 0 && s->target < s->lengths[s->length_count - 1].batches))
        return damaged("it was never asked to go so far");
    if (s->under_way != 0 && (s->under_way <= s->steps[s->at].batches || s->under_way > s->target))
        return damaged("the step under way ends nowhere");
    return RGM_OK;
}

static rgm_status read_options(rgm_sequencer_options *o, const rgm_json *json)
{
    int64_t version = 0, initial = 0, policy = -1;
    const struct {
        const char *name;
        int64_t *value;
    } keys[] = {{"version", &version},
                {"batches_per_step", &o->batches_per_step},
                {"validation_period", &o->validation_period},
                {"checkpoint_period", &o->checkpoint_period},
                {"initial_validation", &initial},
                {"policy", &policy}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!rgm_json_int(keys[i].value, rgm_json_find(json, keys[i].name)))
            return damaged(keys[i].name);
    if (version < OLDEST_VERSION || version > VERSION)
        return RGM_FAIL(RGM_ERR_VERSION, "a sequencer's state of version %lld; this reads %d to %d",
                        (long long)version, OLDEST_VERSION, VERSION);
    if (policy < RGM_POLICY_BEST || policy > RGM_POLICY_NONE || initial < 0 || initial > 1)
        return damaged("policy or initial_validation");
    o->policy = (rgm_checkpoint_policy)policy;
    o->initial_validation = initial == 1;
    return check_options(o) == RGM_OK ? RGM_OK : damaged(rgm_error_message());
}

rgm_status rgm_sequencer_restore(rgm_sequencer **out, const char *text, int64_t size)
{
    rgm_status status = RGM_OK;
    rgm_sequencer_options options = {.batches_per_step = 0};
    rgm_sequencer *s = NULL;
    rgm_json *json = NULL;
    const char *steps, *lengths;

    *out = NULL;
    RGM_GO(rgm_json_parse(&json, text, size, "a sequencer's state"));
    RGM_GO(read_options(&options, json));
    RGM_GO(rgm_sequencer_create(&s, &options));
    steps = rgm_json_text(rgm_json_find(json, "steps"));
    lengths = rgm_json_text(rgm_json_find(json, "lengths"));
    if (steps == NULL || lengths == NULL ||
        !rgm_json_int(&s->target, rgm_json_find(json, "target")) ||
        !rgm_json_int(&s->at, rgm_json_find(json, "at")) ||
        !rgm_json_int(&s->under_way, rgm_json_find(json, "under_way")))
        RGM_GO(damaged("something is missing"));
    RGM_GO(read_steps(s, steps));
    RGM_GO(read_lengths(s, lengths));
    RGM_GO(check_state(s));
    *out = s;
    s = NULL;
done:
    rgm_sequencer_release(s);
    rgm_json_release(json);
    return status;
}
