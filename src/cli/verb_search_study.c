/*
 * regimen search ask, tell, stream, show: a study on disk, for programs that drive themselves. Any
 * number of processes may ask and tell at once.
 */
#include "verb_search.h"

#include <regimen/search_study.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 1 << 20 };

/* ---- the search that a study begins with ---------------------------------------------------- */

/* A search that says nothing of it has so many trials under way: values are drawn when they are
 * asked for, from what was told until then. *out NULL: a searcher that makes trials together has no
 * such key, or the file has mistakes. */
static rgm_status load_limited(rgm_search_file **out, const char *name, const rgm_yaml *merged,
                               int64_t workers)
{
    const rgm_yaml_node *searcher = rgm_yaml_find(rgm_yaml_root(merged), "searcher");
    rgm_status status = RGM_OK;
    rgm_yaml *limited = NULL;
    char number[32];

    *out = NULL;
    if (searcher == NULL || searcher->kind != RGM_YAML_MAP ||
        rgm_yaml_find(searcher, "max_concurrent_trials") != NULL)
        return RGM_OK;
    snprintf(number, sizeof number, "%lld", (long long)workers);
    RGM_GO(rgm_yaml_parse(&limited, "", 0, name));
    RGM_GO(rgm_yaml_merge(limited, merged));
    RGM_GO(rgm_yaml_set(limited, "searcher.max_concurrent_trials", number, "--workers"));
    status = rgm_search_file_load(out, NULL, name, limited, NULL);
    if (status == RGM_ERR_CONFIG) {
        rgm_error_reset();
        status = RGM_OK;
    }
done:
    rgm_yaml_release(limited);
    return status;
}

/* Names of hyperparameters are free: whoever asks knows what they mean. */
static rgm_status load_search(rgm_search_file **out, const char *name, const text_list *sets,
                              int64_t workers)
{
    rgm_experiment_layers layers = {.name = name, .sets = sets->items, .set_count = sets->count};
    rgm_status status = RGM_OK;
    rgm_yaml *merged = NULL;

    *out = NULL;
    RGM_GO(rgm_experiment_merge_layers(&merged, &layers));
    RGM_GO(load_limited(out, name, merged, workers));
    if (*out == NULL)
        RGM_GO(rgm_search_file_load(out, NULL, name, merged, NULL));
done:
    rgm_yaml_release(merged);
    return status;
}

static bool is_same_search(const rgm_search_file *a, const rgm_search_file *b)
{
    return strcmp(rgm_search_file_text(a), rgm_search_file_text(b)) == 0;
}

/* How many trials are under way at once, as it was said when the study began; 1: nothing says so.
 */
static rgm_status read_workers(int64_t *out, const rgm_search_file *file)
{
    const char *text = rgm_search_file_text(file);
    const rgm_yaml_node *node;
    rgm_yaml *yaml = NULL;

    *out = 1;
    RGM_TRY(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), rgm_search_file_name(file)));
    node = rgm_yaml_find(rgm_yaml_root(yaml), "searcher");
    node = node != NULL ? rgm_yaml_find(node, "max_concurrent_trials") : NULL;
    if (node != NULL && node->kind == RGM_YAML_SCALAR)
        *out = strtoll(node->text, NULL, 10);
    rgm_yaml_release(yaml);
    return RGM_OK;
}

/* Whoever asks may name the search of an older study each time, but no other one. */
static rgm_status check_search(const char *path, const rgm_study *study,
                               const rgm_search_file *given, const char *name,
                               const text_list *sets)
{
    const rgm_search_file *own = rgm_study_file(study);
    rgm_search_file *again = NULL;
    rgm_status status = RGM_OK;
    int64_t workers;

    if (is_same_search(own, given))
        return RGM_OK;
    RGM_GO(read_workers(&workers, own));
    RGM_GO(load_search(&again, name, sets, workers));
    if (!is_same_search(own, again))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "%s began with another search than %s says now: leave out --file to go on "
                        "with it, or name another STUDY",
                        path, name));
done:
    rgm_search_file_release(again);
    return status;
}

/* ---- ask, stream ---------------------------------------------------------------------------- */

/* What `ask` and `stream` are told: the study, and the search that a new one begins with. */
typedef struct study_choice {
    const char *name;
    text_list sets;
    int64_t workers;
    double lost;
} study_choice;
#define STUDY_CHOICE                                                                               \
    {                                                                                              \
        .workers = 1, .lost = (double)NAN                                                          \
    }
#define STUDY_ARGUMENTS(choice)                                                                    \
    {"file", ARG_TEXT, &(choice).name, "NAME|FILE", "the search that a new study begins with"},    \
        {"set", ARG_LIST, &(choice).sets, "KEY=VALUE", "override a key of that file"},             \
        {"workers", ARG_COUNT, &(choice).workers, "N",                                             \
         "trials at once, of a new study whose file does not say (default 1)"},                    \
    {                                                                                              \
        "lost", ARG_FLOAT, &(choice).lost, "SECONDS",                                              \
            "give out again what was given out so long ago and never told"                         \
    }

static int check_choice(const study_choice *choice)
{
    if (choice->name == NULL && choice->sets.count > 0)
        return usage_error("--set is about the file of a new study: --file names it");
    if (!isnan(choice->lost) && !(choice->lost > 0))
        return usage_error("--lost is a number of seconds above 0");
    return EXIT_DONE;
}

/* path "-": in memory alone. */
static rgm_status open_study(rgm_study **out, const char *path, const study_choice *choice)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL;
    bool is_kept = strcmp(path, "-") != 0;

    *out = NULL;
    if (choice->name != NULL)
        RGM_GO(load_search(&file, choice->name, &choice->sets, choice->workers));
    RGM_GO(rgm_study_open(out, is_kept ? path : NULL, file));
    if (file != NULL)
        RGM_GO(check_search(path, *out, file, choice->name, &choice->sets));
done:
    rgm_search_file_release(file);
    return status;
}

int search_ask(int argc, char **argv)
{
    study_choice choice = STUDY_CHOICE;
    const argument arguments[] = {STUDY_ARGUMENTS(choice), {0}};
    const usage how = {
        "search ask STUDY [--file NAME|FILE] [--workers N] [--lost SECONDS]",
        "What to try next, as a line of JSON: {\"trial\", \"hyperparameters\", \"seed\", \"from\", "
        "\"to\"}:\n"
        "train that trial from one length to another, and tell its metrics. {\"wait\"}: what "
        "others "
        "are\nat work on decides; {\"over\"}: the search is over. STUDY is a file; it is made "
        "where "
        "there is none.",
        arguments, 1, 1};
    rgm_status status = RGM_OK;
    rgm_study *study = NULL;
    rgm_text text = {0};
    rgm_study_piece piece;
    int code = EXIT_DONE;
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = check_choice(&choice);
    if (code != EXIT_DONE)
        return code;
    if (strcmp(rest.items[0], "-") == 0)
        return usage_error("a study in memory, -, is over with this process: `search stream -` "
                           "keeps it for as long as it runs");
    RGM_GO(open_study(&study, rest.items[0], &choice));
    RGM_GO(rgm_study_ask(&piece, study, isnan(choice.lost) ? 0 : choice.lost));
    RGM_GO(rgm_study_print_piece(&text, study, &piece));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    code = print_exact(text.data);
done:
    rgm_study_close(study);
    rgm_text_clear(&text);
    return status == RGM_OK ? code : report(status);
}

/* The next line of standard input, without its end; false: there is none, or it has no end. */
static rgm_status read_line(bool *is_there, rgm_text *line)
{
    int byte;

    line->size = 0;
    *is_there = false;
    RGM_TRY(rgm_text_add(line, "", 0));
    while ((byte = getchar()) != EOF && byte != '\n') {
        char written = byte == '\0' ? ' ' : (char)byte;

        if (line->size >= LONGEST_LINE)
            return RGM_FAIL(RGM_ERR_CONFIG, "a line of more than %d bytes", (int)LONGEST_LINE);
        RGM_TRY(rgm_text_add(line, &written, 1));
    }
    *is_there = byte == '\n';
    return RGM_OK;
}

static rgm_status stream(int *code, rgm_study *study, double lost)
{
    rgm_text line = {0}, answer = {0};
    bool is_there = true, ends = false;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_study_hold(study));
    while (!ends && *code == EXIT_DONE) {
        RGM_GO(read_line(&is_there, &line));
        if (!is_there)
            break;
        answer.size = 0;
        RGM_GO(rgm_study_say(&answer, &ends, study, line.data, lost));
        *code = print_exact(answer.data);
    }
    if (!ends) {
        int64_t count;

        RGM_GO(rgm_study_give_back(&count, study));
    }
done:
    rgm_text_clear(&line);
    rgm_text_clear(&answer);
    return status;
}

int search_stream(int argc, char **argv)
{
    study_choice choice = STUDY_CHOICE;
    const argument arguments[] = {STUDY_ARGUMENTS(choice), {0}};
    const usage how = {
        "search stream STUDY [--file NAME|FILE] [--workers N] [--lost SECONDS]",
        "As `search ask` and `search tell`, over standard input and output of a process that a "
        "program\nkeeps open: a line of JSON each, answered by one.\n"
        "  {\"type\": \"ask\"}\n"
        "  {\"type\": \"tell\", \"trial\": 1, \"to\": 3, \"metrics\": {\"loss\": 0.5}}\n"
        "  {\"type\": \"end\"}\n"
        "What was given out and not told when it ends, or is killed, is given out again. STUDY -: "
        "nothing\nis kept on disk.",
        arguments, 1, 1};
    rgm_study *study = NULL;
    int code = EXIT_DONE;
    rgm_status status;
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = check_choice(&choice);
    if (code != EXIT_DONE)
        return code;
    status = open_study(&study, rest.items[0], &choice);
    if (status == RGM_OK)
        status = stream(&code, study, isnan(choice.lost) ? 0 : choice.lost);
    rgm_study_close(study);
    return status == RGM_OK ? code : report(status);
}

/* ---- tell ----------------------------------------------------------------------------------- */

/* "loss" also where the file says "valid.loss". */
static bool is_named(const char *objective, const char *text)
{
    size_t size = strcspn(text, "=");
    const char *name = strncmp(objective, "valid.", 6) == 0 ? objective + 6 : objective;

    return (strlen(objective) == size && memcmp(objective, text, size) == 0) ||
           (strlen(name) == size && memcmp(name, text, size) == 0);
}

static rgm_status read_metrics(double *metrics, const rgm_study *study, const text_list *given)
{
    const rgm_objective *objectives;
    int64_t count = rgm_search_file_objectives(&objectives, rgm_study_file(study));

    for (int64_t i = 0; i < count; i++) {
        int64_t k = 1;
        char *end;

        while (k < given->count && !is_named(objectives[i].metric, given->items[k]))
            k++;
        if (k == given->count)
            return RGM_FAIL(RGM_ERR_CONFIG, "the searcher's metric is missing: %s=NUMBER",
                            objectives[i].metric);
        const char *text = given->items[k] + strcspn(given->items[k], "=");
        metrics[i] = *text == '=' ? strtod(text + 1, &end) : 0;
        if (*text != '=' || end == text + 1 || *end != '\0')
            return RGM_FAIL(RGM_ERR_CONFIG, "'%s' is not NAME=NUMBER", given->items[k]);
    }
    for (int64_t k = 1; k < given->count; k++)
        if (strchr(given->items[k], '=') == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "'%s' is not NAME=NUMBER", given->items[k]);
    return RGM_OK;
}

int search_tell(int argc, char **argv)
{
    int64_t trial = 0, at = 0;
    bool failed = false, invalid = false;
    const argument arguments[] = {
        {"trial", ARG_COUNT, &trial, "N", "which trial (needed)"},
        {"at", ARG_COUNT, &at, "LENGTH",
         "to which it was trained (default: that of a trial's first piece)"},
        {"failed", ARG_FLAG, &failed, NULL, "it failed, and will not go on"},
        {"invalid", ARG_FLAG, &invalid, NULL,
         "its hyperparameters cannot be: another one takes its place"},
        {0}};
    const usage how = {"search tell STUDY --trial N (METRIC=NUMBER... | --failed | --invalid)",
                       "What a piece of work of `search ask` came to. Told twice, it counts once.",
                       arguments, 1, 256};
    double metrics[RGM_MAX_OBJECTIVES];
    rgm_status status = RGM_OK;
    rgm_study *study = NULL;
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (trial == 0)
        return usage_error("search tell needs --trial N");
    if ((failed || invalid) && (rest.count > 1 || (failed && invalid)))
        return usage_error("--failed and --invalid stand alone: there are no metrics then");
    RGM_GO(rgm_study_open(&study, rest.items[0], NULL));
    if (!failed && !invalid)
        RGM_GO(read_metrics(metrics, study, &rest));
    RGM_GO(rgm_study_tell(study, trial, at,
                          failed    ? RGM_EXITED
                          : invalid ? RGM_INVALID
                                    : RGM_VALIDATED,
                          metrics));
done:
    rgm_study_close(study);
    return report(status);
}

/* ---- show ----------------------------------------------------------------------------------- */

static rgm_status add_rows(table *t, json_t *rows, const rgm_study *study)
{
    const rgm_searcher *searcher = rgm_study_searcher(study);
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, searcher);

    RGM_TRY(table_add_column(t, "TRIAL"));
    RGM_TRY(table_add_column(t, "STATE"));
    RGM_TRY(table_add_column(t, "LENGTH"));
    for (int64_t k = 0; k < count; k++)
        RGM_TRY(table_add_column(t, objectives[k].metric));
    RGM_TRY(table_add_column(t, "HYPERPARAMETERS"));
    for (int64_t i = 1; i <= rgm_searcher_trial_count(searcher); i++) {
        const rgm_search_trial *trial = rgm_searcher_trial(searcher, i);
        const char *state = trial->invalid  ? "INVALID"
                            : trial->exited ? "FAILED"
                            : trial->closed ? "OVER"
                                            : "ACTIVE";
        rgm_text values = {0};
        rgm_status status =
            rgm_space_print_json(&values, rgm_searcher_space(searcher), trial->values);
        json_t *row = json_pack("{s:I, s:s, s:I}", "trial", (json_int_t)i, "state", state, "length",
                                (json_int_t)trial->length);

        if (status == RGM_OK)
            status = table_add_row(t);
        if (status == RGM_OK) {
            table_set_count(t, 0, i);
            status = table_set(t, 1, state);
            table_set_count(t, 2, trial->length);
        }
        for (int64_t k = 0; k < count && status == RGM_OK; k++) {
            double value = objectives[k].smaller_is_better ? trial->keys[k] : -trial->keys[k];
            char text[32] = "";

            if (trial->length > 0)
                snprintf(text, sizeof text, "%.6g", value);
            status = table_set(t, (int)(3 + k), text);
            json_object_set_new(row, objectives[k].metric,
                                trial->length > 0 ? json_number(value) : json_null());
        }
        if (status == RGM_OK)
            status = table_set(t, (int)(3 + count), values.data);
        json_object_set_new(row, "hyperparameters",
                            status == RGM_OK ? json_loads(values.data, 0, NULL) : json_null());
        json_array_append_new(rows, row);
        rgm_text_clear(&values);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status say_best(const rgm_study *study)
{
    const rgm_searcher *searcher = rgm_study_searcher(study);
    int64_t *best = NULL, count;

    RGM_TRY(rgm_searcher_front(&best, &count, searcher, false));
    say("study", "%s, %.1f%%%s", rgm_search_file_name(rgm_study_file(study)),
        100 * rgm_searcher_progress(searcher), rgm_searcher_is_over(searcher) ? ", over" : "");
    for (int64_t i = 0; i < count && i < 8; i++)
        say("best", "trial %lld", (long long)best[i]);
    rgm_free(best);
    return RGM_OK;
}

int search_show(int argc, char **argv)
{
    list_form form = {0};
    const argument arguments[] = {LIST_ARGUMENTS(form), {0}};
    const usage how = {"search show STUDY [--json | --csv]",
                       "The trials of a study, and the best of them.", arguments, 1, 1};
    rgm_status status = RGM_OK;
    json_t *rows = NULL;
    rgm_study *study = NULL;
    text_list rest;
    table t = {0};
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    rows = json_array();
    RGM_GO(rgm_study_open(&study, rest.items[0], NULL));
    RGM_GO(add_rows(&t, rows, study));
    code = form.json ? print_json(json_incref(rows)) : print_table(&t, &form, "no trials");
    if (!form.json && !form.csv)
        RGM_GO(say_best(study));
done:
    rgm_study_close(study);
    table_clear(&t);
    json_decref(rows);
    return status == RGM_OK ? code : report(status);
}
