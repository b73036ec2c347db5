/* regimen predict: one CSV line for each predicted item. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verb_predict.h"
#include "verb_run.h"

#include <regimen/translation.h>

typedef struct prediction_view {
    const rgm_task *task;
    rgm_mode mode;
    bool of_part; /* of the run's own data: what is of other parts is left out */
    int64_t head, items;
    rgm_texts classes; /* their names; none: numbers */
    bool head_printed, is_number, of_pairs, of_relations;
    const char *named; /* what new data have names for: "node", "graph"; NULL: nothing */
} prediction_view;

static const char *name_of(rgm_str *name, const prediction_view *view, rgm_element *batch,
                           int64_t i)
{
    return view->task->item_name != NULL
               ? view->task->item_name(name, batch, view->head, i, view->task->state)
               : NULL;
}

static bool pair_of(rgm_item_pair *pair, const prediction_view *view, rgm_element *batch, int64_t i)
{
    return view->task->item_pair != NULL &&
           view->task->item_pair(pair, batch, view->head, i, view->task->state);
}

/* Who reads columns by their place finds each where it always was: so a pair's probability stands
 * before its logit, but a class' name and probability, which came later, behind all. */
static void print_head(prediction_view *view, const rgm_prediction *p, int64_t units)
{
    const char *probability = p->probabilities != NULL ? ",probability" : "";
    rgm_item_pair pair;
    rgm_str name;

    if (view->head_printed)
        return;
    view->of_pairs = pair_of(&pair, view, p->batch, 0);
    view->of_relations = view->of_pairs && pair.relation >= 0;
    view->named = name_of(&name, view, p->batch, 0);
    printf("item,%s%s",
           view->of_pairs        ? "source,target"
           : view->named != NULL ? view->named
                                 : "node",
           view->of_relations ? ",relation" : "");
    printf("%s%s", view->is_number ? "" : ",prediction", view->of_pairs ? probability : "");
    for (int64_t u = 0; u < units; u++)
        if (view->is_number && units == 1)
            printf(",prediction");
        else
            printf(",%s_%lld", view->is_number ? "prediction" : "logit", (long long)u);
    printf("%s%s\n", view->classes.count > 0 ? ",class" : "", view->of_pairs ? "" : probability);
    view->head_printed = true;
}

/* A name as CSV has it: in quotes where it would end the field. */
static void print_name(rgm_str name)
{
    bool quoted = false;

    for (int64_t i = 0; i < name.size; i++)
        quoted |= strchr(",\"\r\n", name.data[i]) != NULL;
    printf(quoted ? ",\"" : ",");
    for (int64_t i = 0; i < name.size; i++)
        printf(name.data[i] == '"' ? "\"\"" : "%c", name.data[i]);
    printf(quoted ? "\"" : "");
}

static void print_pair(const prediction_view *view, rgm_element *batch, int64_t i)
{
    rgm_item_pair pair;
    int64_t numbers[3];

    if (!pair_of(&pair, view, batch, i))
        return;
    numbers[0] = pair.source;
    numbers[1] = pair.target;
    numbers[2] = pair.relation;
    for (int k = 0; k < (view->of_relations ? 3 : 2); k++)
        if (pair.names[k].size > 0)
            print_name(pair.names[k]);
        else
            printf(",%lld", (long long)numbers[k]);
}

static void print_node(const prediction_view *view, rgm_element *batch, int64_t i)
{
    int64_t node = -1;
    rgm_str name;

    if (view->named != NULL && name_of(&name, view, batch, i) != NULL) {
        print_name(name);
        return;
    }
    if (view->task->item_number != NULL)
        node = view->task->item_number(batch, view->head, i, view->task->state);
    printf(node >= 0 ? ",%lld" : ",", (long long)node);
}

/* The class of the greatest logit, of one logit its sign. */
static int64_t class_of(const rgm_tensor *logits, int64_t item, int64_t units)
{
    int64_t best = 0;

    for (int64_t u = 1; u < units; u++)
        if (rgm_tensor_at(logits, item * units + u) > rgm_tensor_at(logits, item * units + best))
            best = u;
    return units == 1 ? rgm_tensor_at(logits, item) > 0 : best;
}

/* Of the class that is predicted; of a single logit that it is 1. */
static void print_probability(const rgm_prediction *p, int64_t item, int64_t class, int64_t units)
{
    int64_t unit = units == 1 ? 0 : class;

    if (p->probabilities != NULL)
        printf(",%.6g", rgm_tensor_at(p->probabilities, item * units + unit));
}

static void print_class(const prediction_view *view, int64_t class)
{
    const char *name = class < view->classes.count ? view->classes.items[class] : "";

    if (name[0] != '\0')
        print_name((rgm_str){name, (int64_t)strlen(name)});
    else if (view->classes.count > 0)
        printf(",");
}

static void print_item(const prediction_view *view, const rgm_prediction *p, int64_t i,
                       int64_t units)
{
    int64_t class = class_of(p->values, i, units);

    if (view->of_pairs)
        print_pair(view, p->batch, i);
    else
        print_node(view, p->batch, i);
    if (!view->is_number)
        printf(",%lld", (long long)class);
    if (view->of_pairs)
        print_probability(p, i, class, units);
    for (int64_t u = 0; u < units; u++)
        printf(",%.6g", rgm_tensor_at(p->values, i * units + u));
    print_class(view, class);
    if (!view->of_pairs)
        print_probability(p, i, class, units);
    printf("\n");
}

static bool is_asked(const prediction_view *view)
{
    return !view->of_part || view->task->item_asked == NULL ||
           view->task->item_asked(view->mode, view->head, view->items, view->task->state);
}

static rgm_status print_batch(const rgm_prediction *p, void *payload)
{
    prediction_view *view = payload;
    int64_t items = rgm_tensor_dim(p->values, 0);
    int64_t units = items > 0 ? rgm_tensor_count(p->values) / items : 0;

    print_head(view, p, units);
    for (int64_t i = 0; i < items; i++, view->items++) {
        if (!is_asked(view))
            continue;
        printf("%lld", (long long)view->items);
        print_item(view, p, i, units);
    }
    if (fflush(stdout) != 0)
        return RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno));
    return RGM_OK;
}

/* Files that ask about nothing are more likely the wrong ones than meant so. */
static rgm_status check_asked(const prediction_view *view, const char *input)
{
    return view->items > 0 ? RGM_OK
                           : RGM_FAIL(RGM_ERR_DATA, "%s has no item to predict for", input);
}

/* What the data were found to have, in lines of a word and what it says. */
static rgm_status close_files(const prediction_view *view, const char *input)
{
    rgm_text text = {0};
    char *word, *said, *rest;
    rgm_status status = check_asked(view, input);

    if (status == RGM_OK && view->task->describe_files != NULL)
        status = view->task->describe_files(&text, view->task->state);
    rest = text.data;
    while (status == RGM_OK && text.size > 0 && plan_line(&word, &said, &rest))
        say(word, "%s", said);
    rgm_text_clear(&text);
    return status;
}

static rgm_status refuse_predictions(const rgm_task *task, const char *folder)
{
    if (task->no_predictions == NULL)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s %s", folder, task->no_predictions);
}

/* Of data that the user names, whether a run or an export is asked. */
static rgm_status predict_files(rgm_predictor *predictor, const char *folder,
                                const rgm_new_data *input, int64_t head)
{
    prediction_view view = {.task = rgm_predictor_task(predictor), .head = head};
    const rgm_export_output *outputs;

    RGM_TRY(refuse_predictions(view.task, folder));
    if (view.task->build_file_inputs == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "--input: the task '%s' reads no files but its own data: name others with "
                        "--set data.test=FILE",
                        view.task->name);
    if (head >= 0 && head < rgm_predictor_file_outputs(&outputs, predictor)) {
        view.is_number = outputs[head].kind == RGM_OUTPUT_NUMBERS;
        view.classes = outputs[head].classes;
    }
    RGM_TRY(rgm_predictor_run_files(predictor, input, head, print_batch, &view));
    return close_files(&view, input->files);
}

/* Of a part of the run's own data. */
static rgm_status predict_part(const session *s, const char *run_dir, rgm_mode mode, int64_t head)
{
    prediction_view view = {
        .task = rgm_run_task(s->run), .mode = mode, .of_part = true, .head = head};
    const rgm_head *heads;

    RGM_TRY(refuse_predictions(view.task, run_dir));
    if (head >= 0 && head < rgm_task_model_outputs(&heads, rgm_run_model(s->run))) {
        view.is_number = heads[head].is_number;
        view.classes = heads[head].class_names;
    }
    return rgm_run_predict(s->run, mode, head, print_batch, &view);
}

static rgm_status predict(const session *s, const char *run_dir, rgm_mode mode,
                          const rgm_new_data *input, int64_t head)
{
    rgm_predictor *predictor;
    rgm_status status;

    if (input == NULL)
        return predict_part(s, run_dir, mode, head);
    RGM_TRY(rgm_run_predictor(&predictor, s->run));
    status = predict_files(predictor, run_dir, input, head);
    rgm_predictor_release(predictor);
    return status;
}

static rgm_status predict_export(const char *folder, const rgm_new_data *input, int64_t head)
{
    rgm_predictor *predictor;
    rgm_status status;

    RGM_TRY(rgm_predictor_open(&predictor, folder, NULL, 0));
    status = predict_files(predictor, folder, input, head);
    rgm_predictor_release(predictor);
    return status;
}

static rgm_status predict_run(const char *run_dir, const char *part, const rgm_new_data *input,
                              int64_t head, const text_list *sets, const weights_choice *weights,
                              const embeddings_choice *embeddings)
{
    session s = {.run = NULL};
    data_choice data = {.modes = {false}, .asked = input != NULL};
    rgm_mode mode = RGM_TEST;
    rgm_status status = part != NULL ? mode_by_name(&mode, part) : RGM_OK;

    if (status == RGM_OK) /* batches are the run's own, not its trainer's */
        status = session_open(&s, run_dir, sets, weights, &data);
    if (status == RGM_OK)
        status = session_part(&mode, part, &s);
    if (status == RGM_OK)
        status = embeddings->wanted ? embeddings_write(s.run, run_dir, embeddings)
                                    : predict(&s, run_dir, mode, input, head);
    session_close(&s);
    return status;
}

/* Of a run, or of an export's folder. */
static int predict_folder(const char *folder, const char *part, const rgm_new_data *input,
                          int64_t head, const text_list *sets, const weights_choice *weights,
                          const embeddings_choice *embeddings)
{
    bool exported = rgm_model_folder_kind(folder) == RGM_FOLDER_EXPORT;
    rgm_status status;

    if (exported && (input == NULL || sets->count > 0 || weights_chosen(weights)))
        return usage_error("%s is an export: it has one set of weights and no data, so predict "
                           "takes --input and --head",
                           folder);
    status = exported ? predict_export(folder, input, head)
                      : predict_run(folder, part, input, head, sets, weights, embeddings);
    return status == RGM_OK ? print_text("") : report(status);
}

/* What does not go together is refused, not left out. */
static int check_choice(const char *part, int64_t head, const rgm_new_data *named,
                        const embeddings_choice *embeddings)
{
    if (named->items != NULL && named->files == NULL)
        return usage_error("--items are of the data that --input names");
    if (named->files != NULL && embeddings->wanted)
        return usage_error("--embeddings are of the run's own data, not of --input");
    if (named->files != NULL && part != NULL)
        return usage_error("--part is of the run's own data, not of --input");
    if (embeddings->wanted && (part != NULL || head != 0))
        return usage_error("--part and --head are of predictions; --embeddings are of all nodes, "
                           "in front of the heads");
    return embeddings_check(embeddings);
}

int verb_predict(int argc, char **argv)
{
    const char *part = NULL;
    rgm_new_data named = {.files = NULL}, *input = NULL;
    text_list sets = {.count = 0}, rest;
    int64_t head = 0;
    weights_choice weights = {.last = false};
    embeddings_choice embeddings = {.wanted = false};
    const argument arguments[] = {
        {"part", ARG_TEXT, &part, "NAME",
         "train, valid or test (default; of a program's own model valid)"},
        {"input", ARG_TEXT, &named.files, "PATH",
         "new data instead: CSV files of records; of graphs a schema of CSV tables, a folder (of "
         "these, of Examples, in OGB's layout), a graph file, or TFRecord files of Examples"},
        {"items", ARG_TEXT, &named.items, "FILE",
         "with --input: the nodes that are asked about, a CSV file of ids, or pairs of them, of "
         "sources and targets; default: all nodes"},
        {"head", ARG_INT, &head, "N", "which task, default 0"},
        {"embeddings", ARG_FLAG, &embeddings.wanted, NULL,
         "the states of all nodes behind a run's graph network, of all its data"},
        {"node-set", ARG_TEXT, &embeddings.node_set, "SET", "whose, default that of the split"},
        {"o", ARG_TEXT, &embeddings.file, "FILE", "where embeddings go, default stdout"},
        {"format", ARG_TEXT, &embeddings.format, "NAME",
         "csv, npy or safetensors, default by the ending of FILE"},
        {"chunk", ARG_COUNT, &embeddings.chunk, "N",
         "compute embeddings layer by layer, N nodes at a time; default: all at once"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. data.path=DIR"},
        {0}};
    const usage how = {
        "predict RUN_DIR|EXPORT|model:NAME [--part NAME | --input PATH [--items FILE] |\n"
        "       --embeddings] [--head N] [--last | --average N | --step N]",
        "Predictions as CSV: item, node, prediction and logits of each, then the "
        "name of its class, where classes have names, and its probability. New data "
        "need no labels and no split; nodes are told by their ids. Of an export's "
        "folder alone, without a run, for --input; of a registered model "
        "(regimen model).",
        arguments, 1, 1};
    char *folder = NULL;
    int code;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (check_choice(part, head, &named, &embeddings) != EXIT_DONE)
        return EXIT_USAGE;
    input = named.files != NULL ? &named : NULL;
    code = report(model_folder(&folder, rest.items[0]));
    if (code == EXIT_DONE)
        code = predict_folder(folder, part, input, head, &sets, &weights, &embeddings);
    rgm_free(folder);
    return code;
}
