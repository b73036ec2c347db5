/*
 * A search from anywhere. Input is a file with `hyperparameters`, `constraints` and `searcher`, and
 * behind a line "---state" the state of a searcher, whose "of" is made to fit, so that what stands
 * behind it is read. What is taken must simulate to its end, or go on without a crash; what is
 * saved must be what was restored.
 */
#include <regimen/search.h>

#include <stdio.h>
#include <string.h>

#include "target.h"

#define MOST_EVENTS 200

/* The plan of a hostile file may have a million trials. */
static bool is_small(const rgm_searcher *searcher)
{
    rgm_text plan = {0};
    bool small = rgm_searcher_describe(&plan, searcher) == RGM_OK;

    for (const char *at = plan.data; small && at != NULL && *at != '\0'; at++) {
        size_t digits = strspn(at, "0123456789");

        small = digits <= 3;
        at += digits > 0 ? digits - 1 : 0;
    }
    rgm_text_clear(&plan);
    return small && rgm_searcher_max_length(searcher).units <= 1000;
}

static void metrics_of(double *metrics, int64_t trial, int64_t length, void *payload)
{
    const rgm_searcher *searcher = payload;
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, searcher);

    for (int64_t i = 0; i < count; i++)
        metrics[i] = (double)((trial * 7 + length + i) % 11);
}

static void simulate(rgm_searcher *searcher)
{
    rgm_simulated simulated;
    rgm_status status = rgm_search_simulate(
        &simulated, searcher, &(rgm_simulation){.metrics = metrics_of, .payload = searcher});

    if (status != RGM_OK && status != RGM_ERR_CONFIG) {
        fprintf(stderr, "%s\n", rgm_error_text());
        __builtin_trap();
    }
    if (status == RGM_OK)
        rgm_simulated_clear(&simulated);
}

/* Answers what is asked, as far as the state lets it. */
static void go_on(rgm_searcher *searcher)
{
    rgm_operation o;
    rgm_text json = {0};
    double metrics[RGM_MAX_OBJECTIVES];

    for (int i = 0; i < MOST_EVENTS && rgm_searcher_next(&o, searcher); i++) {
        rgm_search_event event = {RGM_TRAINED, o.trial, o.length, metrics};

        if (o.kind == RGM_ASK_CREATE &&
            rgm_space_print_json(&json, rgm_searcher_space(searcher), o.values) != RGM_OK)
            __builtin_trap();
        event.kind = o.kind == RGM_ASK_VALIDATE     ? RGM_VALIDATED
                     : o.kind == RGM_ASK_CHECKPOINT ? RGM_CHECKPOINTED
                     : o.kind == RGM_ASK_CLOSE      ? (i % 5 == 0 ? RGM_EXITED : RGM_CLOSED)
                                                    : RGM_TRAINED;
        metrics_of(metrics, o.trial, o.length, searcher);
        if (rgm_searcher_tell(searcher, &event) == RGM_ERR_NOMEM)
            __builtin_trap();
    }
    rgm_text_clear(&json);
}

/* The state with this searcher's own name and hash in place of those that it has. */
static rgm_status fit(rgm_text *out, const rgm_searcher *searcher, const char *state)
{
    rgm_status status = RGM_OK;
    const char *end = strstr(state, "\", \"begun\"");
    rgm_text own = {0};
    char *own_end;

    RGM_GO(rgm_searcher_save(&own, searcher));
    own_end = strstr(own.data, "\", \"begun\"");
    RGM_GO(rgm_text_add(out, own.data, own_end - own.data));
    RGM_GO(rgm_text_printf(out, "%s", end != NULL ? end : state));
done:
    rgm_text_clear(&own);
    return status;
}

static void restore(rgm_searcher *searcher, const char *state)
{
    rgm_text text = {0}, first = {0};

    if (fit(&text, searcher, state) != RGM_OK)
        __builtin_trap();
    if (rgm_searcher_restore(searcher, text.data, text.size) == RGM_OK) {
        if (rgm_searcher_save(&first, searcher) != RGM_OK)
            __builtin_trap();
        go_on(searcher);
    }
    rgm_text_clear(&text);
    rgm_text_clear(&first);
}

static void try_search(const rgm_yaml_node *root, const char *state)
{
    rgm_space *space = NULL;
    rgm_searcher *searcher = NULL;

    if (rgm_space_read(&space, rgm_yaml_find(root, "hyperparameters"),
                       rgm_yaml_find(root, "constraints")) == RGM_OK &&
        rgm_yaml_find(root, "searcher") != NULL &&
        rgm_searcher_read(&searcher, rgm_yaml_find(root, "searcher"), space, 1, NULL) == RGM_OK) {
        if (state != NULL)
            restore(searcher, state);
        else if (is_small(searcher))
            simulate(searcher);
    }
    rgm_searcher_release(searcher);
    rgm_space_release(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "\n---state\n";
    rgm_yaml *yaml = NULL;
    char *text = NULL, *state;

    if (size > 65536 || rgm_strndup(&text, (const char *)data, size) != RGM_OK)
        return 0;
    state = strstr(text, mark);
    if (state != NULL) {
        *state = '\0';
        state += strlen(mark);
    }
    if (rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "input") == RGM_OK)
        try_search(rgm_yaml_root(yaml), state);
    rgm_yaml_release(yaml);
    rgm_free(text);
    return 0;
}
