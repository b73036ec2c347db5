/* regimen search preview: what a search will do, without doing it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "verb_search.h"

/* Every later trial is worse: the plan of a searcher that promotes the fewest it can. */
static void worsening(double *metrics, int64_t trial, int64_t length, void *payload)
{
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, payload);

    (void)length;
    for (int64_t i = 0; i < count; i++)
        metrics[i] = objectives[i].smaller_is_better ? (double)trial : -(double)trial;
}

static rgm_status courses_table(table *t, const rgm_simulated *plan, rgm_length_unit unit)
{
    RGM_TRY(table_add_column(t, "TRIALS"));
    RGM_TRY(table_add_column(t, rgm_length_unit_names[unit]));
    RGM_TRY(table_add_column(t, "BREAKDOWN"));
    for (int64_t i = 0; i < plan->course_count; i++) {
        RGM_TRY(table_add_row(t));
        table_set_count(t, 0, plan->courses[i].trials);
        table_set_count(t, 1, plan->courses[i].length);
        RGM_TRY(table_set(t, 2, plan->courses[i].breakdown));
    }
    return RGM_OK;
}

static int print_plan(const rgm_search_file *file, const rgm_searcher *searcher,
                      const rgm_simulated *plan, const list_form *form)
{
    rgm_length_unit unit = rgm_searcher_max_length(searcher).unit;
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    table t = {0};
    int code = EXIT_DONE;

    RGM_GO(courses_table(&t, plan, unit));
    if (!form->csv) {
        RGM_GO(rgm_text_printf(&text, "searcher:\n"));
        RGM_GO(rgm_yaml_print(&text, rgm_search_file_section(file, "searcher")));
        RGM_GO(rgm_text_printf(&text, "\n"));
        RGM_GO(rgm_searcher_describe(&text, searcher));
        RGM_GO(rgm_text_printf(&text, "\n%s trials, %s %s in all", grouped(plan->trial_count),
                               grouped(plan->length), rgm_length_unit_names[unit]));
        RGM_GO(
            rgm_text_printf(&text, " (%s to train every trial to its end)\n\n",
                            grouped(plan->trial_count * rgm_searcher_max_length(searcher).units)));
        code = print_text(text.data);
    }
    if (code == EXIT_DONE)
        code = print_table(&t, form, "no trials");
done:
    if (status != RGM_OK)
        code = report(status);
    rgm_text_clear(&text);
    table_clear(&t);
    return code;
}

static int print_plan_json(const rgm_searcher *searcher, const rgm_simulated *plan)
{
    json_t *courses = json_array();

    for (int64_t i = 0; i < plan->course_count; i++)
        json_array_append_new(courses,
                              json_pack("{s:s, s:I, s:I}", "course", plan->courses[i].course,
                                        "trials", (json_int_t)plan->courses[i].trials, "length",
                                        (json_int_t)plan->courses[i].length));
    return print_json(json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:o}", "searcher", rgm_searcher_name(searcher), "unit",
        rgm_length_unit_names[rgm_searcher_max_length(searcher).unit], "max_length",
        (json_int_t)rgm_searcher_max_length(searcher).units, "trials",
        (json_int_t)plan->trial_count, "length", (json_int_t)plan->length, "courses", courses));
}

static rgm_status plan_search(rgm_searcher **searcher, rgm_simulated *plan,
                              const rgm_search_file *file)
{
    const rgm_search_settings *options = rgm_search_file_settings(file);
    int64_t seed = options->reproducibility.experiment_seed;
    rgm_simulation how = {.order = RGM_IN_ORDER, .metrics = worsening};

    RGM_TRY(rgm_search_file_searcher(searcher, file, seed >= 0 ? (uint32_t)seed : 0, NULL));
    how.payload = *searcher;
    return rgm_search_simulate(plan, *searcher, &how);
}

static int preview(int argc, char **argv)
{
    list_form form = {0};
    text_list over = {.count = 0}, sets = {.count = 0}, rest;
    const argument arguments[] = {
        {"config", ARG_LIST, &over, "FILE", "lay a file or named experiment over it"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key, e.g. searcher.max_trials=8"},
        LIST_ARGUMENTS(form),
        {0}};
    const usage how = {
        "search preview NAME|FILE [--set KEY=VALUE]... [--json | --csv]",
        "What a search will cost: its brackets, how many trials train how far, and how far in\n"
        "all. Metrics decide the rest: the table is of metrics that get worse from trial to\n"
        "trial, the fewest promotions that there can be.",
        arguments, 1, 1};
    rgm_searcher *searcher = NULL;
    rgm_search_file *file = NULL;
    rgm_simulated plan = {0};
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = search_open(&file, rest.items[0], &over, &sets);
    if (code != EXIT_DONE)
        return code;
    status = plan_search(&searcher, &plan, file);
    if (status != RGM_OK)
        code = report(status);
    else
        code =
            form.json ? print_plan_json(searcher, &plan) : print_plan(file, searcher, &plan, &form);
    rgm_simulated_clear(&plan);
    rgm_searcher_release(searcher);
    rgm_search_file_release(file);
    return code;
}

static const verb verbs[] = {
    {"preview", preview, "the plan of a search and its cost, without running it"},
    {"ask", search_ask, "of a study on disk: what to try next, for programs that drive themselves"},
    {"tell", search_tell, "... what it came to"},
    {"stream", search_stream, "... both, over pipes, for a program that keeps it open"},
    {"show", search_show, "... its trials, and the best"},
};

int verb_search(int argc, char **argv)
{
    return verb_family("search", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
