/* regimen config: the named experiments, one merged and checked, where its values come from, and
 * the keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- list ---------------------------------------------------------------------------------- */

/* What an experiment or a search says of itself; "" if nothing. */
static const char *description_of(const rgm_yaml *merged)
{
    const rgm_yaml_node *node = rgm_yaml_find(rgm_yaml_root(merged), "description");

    return node != NULL && node->kind == RGM_YAML_SCALAR ? node->text : "";
}

static int list(bool json)
{
    int64_t count;
    const rgm_named_experiment *named = rgm_named_experiments(&count);
    json_t *all = json_array();
    int code = EXIT_DONE;

    for (int64_t i = 0; i < count && code == EXIT_DONE; i++) {
        rgm_yaml *merged;
        rgm_status status =
            rgm_experiment_merge_layers(&merged, &(rgm_experiment_layers){.name = named[i].name});

        if (status != RGM_OK) {
            code = report(status);
            break;
        }
        if (json)
            json_array_append_new(all, json_pack("{s:s, s:s, s:b}", "name", named[i].name,
                                                 "description", description_of(merged), "search",
                                                 rgm_search_file_is_one(merged)));
        else
            printf("%-24s %s\n", named[i].name, description_of(merged));
        rgm_yaml_release(merged);
    }
    if (code == EXIT_DONE && json)
        return print_json(all);
    json_decref(all);
    return code == EXIT_DONE ? print_text("") : code;
}

/* ---- show ---------------------------------------------------------------------------------- */

static json_t *json_of(const rgm_yaml_node *node)
{
    json_t *json;
    char *end;

    if (node == NULL)
        return json_null();
    if (node->kind == RGM_YAML_SCALAR) {
        int64_t whole = strtoll(node->text, &end, 10);

        if (node->quoted)
            return json_string(node->text);
        if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)
            return json_boolean(node->text[0] == 't');
        if (node->text[0] != '\0' && *end == '\0')
            return json_integer(whole);
        if (strchr("+-.0123456789", node->text[0]) != NULL) {
            double number = strtod(node->text, &end);

            if (end != node->text && *end == '\0')
                return json_real(number);
        }
        return strcmp(node->text, "inf") == 0 ? json_null() : json_string(node->text);
    }
    json = node->kind == RGM_YAML_LIST ? json_array() : json_object();
    for (int64_t i = 0; i < node->count; i++)
        if (node->kind == RGM_YAML_LIST)
            json_array_append_new(json, json_of(node->items[i]));
        else
            json_object_set_new(json, node->items[i]->key, json_of(node->items[i]));
    return json;
}

/* Put {"value", "source"} where the dotted key says. */
static void put_value(json_t *map, const rgm_experiment_value *value)
{
    json_t *leaf = json_pack("{s:o, s:s}", "value", json_of(value->value), "source", value->origin);
    const char *name = value->key, *dot;
    char part[256];

    if (value->unused != NULL)
        json_object_set_new(leaf, "unused", json_string(value->unused));
    for (; (dot = strchr(name, '.')) != NULL; name = dot + 1) {
        json_t *below;

        snprintf(part, sizeof part, "%.*s", (int)(dot - name), name);
        below = json_object_get(map, part);
        if (below == NULL) {
            below = json_object();
            json_object_set_new(map, part, below);
        }
        map = below;
    }
    json_object_set_new(map, name, leaf);
}

static int show_json(const rgm_experiment *experiment, bool full)
{
    const rgm_experiment_value *values;
    int64_t count = rgm_experiment_values(&values, experiment);
    json_t *json = json_object();

    for (int64_t i = 0; i < count; i++)
        if (full || values[i].given)
            put_value(json, &values[i]);
    return print_json(json);
}

static int show(const rgm_experiment *experiment, bool full, bool json)
{
    rgm_text text = {0};
    rgm_status status;
    int code;

    if (json)
        return show_json(experiment, full);
    if (!full)
        return print_exact(rgm_experiment_text(experiment));
    status = rgm_experiment_print(&text, experiment);
    code = status == RGM_OK ? print_exact(text.data) : report(status);
    rgm_text_clear(&text);
    return code;
}

/* ---- check --------------------------------------------------------------------------------- */

static const char *text_of(const rgm_experiment *experiment, const char *key)
{
    const rgm_experiment_value *value = rgm_experiment_find(experiment, key);

    return value != NULL && value->value != NULL && value->unused == NULL ? value->value->text
                                                                          : NULL;
}

static int check(rgm_experiment *experiment, const char *name, bool data)
{
    const char *epochs = text_of(experiment, "trainer.epochs");
    rgm_text text = {0};
    rgm_status status = rgm_experiment_check(experiment, data);

    if (status == RGM_OK)
        status = rgm_experiment_describe(&text, experiment);
    if (status != RGM_OK) {
        rgm_text_clear(&text);
        return report(status);
    }
    say_without_effect(experiment);
    printf("%s: no mistakes%s; %s, %s, %s %s\n", name, data ? ", data included" : "", text.data,
           text_of(experiment, "optimizer.type"),
           epochs != NULL ? epochs : text_of(experiment, "trainer.train_steps"),
           epochs != NULL ? "epochs" : "steps");
    rgm_text_clear(&text);
    return print_text("");
}

/* ---- a search ------------------------------------------------------------------------------ */

static int check_search(rgm_search_file *file, const char *name, bool data)
{
    const rgm_space *space = rgm_search_file_space(file);
    const rgm_objective *objectives;
    rgm_status status = data ? rgm_trial_check_data(file) : RGM_OK;
    int64_t count;

    if (status != RGM_OK)
        return report(status);
    count = rgm_search_file_objectives(&objectives, file);
    printf("%s: no mistakes%s; a search over %lld hyperparameter%s for the ", name,
           data ? ", data included" : "", (long long)rgm_space_count(space),
           rgm_space_count(space) == 1 ? "" : "s");
    for (int64_t i = 0; i < count; i++) {
        const rgm_objective *o = &objectives[i];

        printf("%s", i == 0 ? "" : o->is_bound && !objectives[i - 1].is_bound ? ", with " : ", ");
        if (o->is_bound)
            printf("%s at %s %g", o->metric, o->smaller_is_better ? "most" : "least", o->bound);
        else
            printf("%s %s", o->smaller_is_better ? "smallest" : "largest", o->metric);
    }
    return print_text("\n");
}

/* ---- keys ---------------------------------------------------------------------------------- */

static int keys(const char *section)
{
    rgm_text text = {0};
    rgm_status status = rgm_experiment_keys(&text, section, NULL);
    rgm_text search = {0};
    int code;

    if (section == NULL && status == RGM_OK) {
        status = rgm_text_printf(&text, "of a search beside these:\n");
        if (status == RGM_OK)
            status = rgm_search_file_keys(&text, NULL);
    } else if (status == RGM_ERR_NOT_FOUND && rgm_search_file_keys(&search, section) == RGM_OK) {
        rgm_text_clear(&text);
        text = search;
        status = RGM_OK;
    } else if (status == RGM_ERR_NOT_FOUND) {
        status = rgm_experiment_keys(&text, section, NULL);
    }
    code = status == RGM_OK ? print_text(text.data) : report(status);

    rgm_text_clear(&text);
    return code;
}

/* What stands behind `config` and is none of its words, or has too few or many behind it. */
static int wrong_word(const char *word, const char *line)
{
    static const char *const words[] = {"list", "show", "check", "keys"};
    const char *near = rgm_nearest_name(word, words, 4);

    if (near != NULL && strcmp(near, word) != 0)
        return usage_error("no 'config %s'; did you mean 'config %s'?", word, near);
    return usage_error("usage: regimen %s", line);
}

/* What an option says beside a word that makes nothing of it would have no effect. */
static int check_options(const char *word, bool full, bool json, bool data, bool layers)
{
    const struct {
        bool given;
        const char *option, *words;
    } rows[] = {{data, "--data", "check"},
                {full, "--full", "show"},
                {json, "--json", "list or show"},
                {layers, "--config and --set", "show or check"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given && strstr(rows[i].words, word) == NULL)
            return usage_error("%s go%s with config %s", rows[i].option,
                               strchr(rows[i].option, ' ') != NULL ? "" : "es", rows[i].words);
    return EXIT_DONE;
}

/* It is printed as the file that its layers make, and no value of it knows where it was set. */
static int show_search(const rgm_search_file *search, const char *name, bool full, bool json)
{
    if (full || json)
        return usage_error("%s is a search, which config show prints as one file: without --%s",
                           name, json ? "json" : "full");
    return print_exact(rgm_search_file_text(search));
}

int verb_config(int argc, char **argv)
{
    text_list over = {.count = 0}, sets = {.count = 0}, rest;
    bool full = false, json = false, data = false, lists, tells, checks;
    const argument arguments[] = {
        {"full", ARG_FLAG, &full, NULL, "show: defaults too, and where each value was set"},
        {"config", ARG_LIST, &over, "FILE", "lay a file or named experiment over it"},
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key; KEY=~ takes it back"},
        {"data", ARG_FLAG, &data, NULL, "check: read the data and build the model too"},
        {"json", ARG_FLAG, &json, NULL, "list, show: as JSON on stdout"},
        {0}};
    const usage how = {
        "config list | show NAME|FILE [--full] | check NAME|FILE [--data] | keys [SECTION]",
        "list: the named experiments.\n"
        "show: the file merged with all layers, after every check; --full prints every key that\n"
        "      applies with the source of its value, as a file that says the same.\n"
        "check: exit 0 and a line, or 2 and the mistake. With --data all that a run is asked "
        "before\n"
        "      its first step: data of every part, model, exports; no step is made, nothing "
        "written\n"
        "      (a tokenizer of data.train_tokenizer is trained to check with, and not kept).\n"
        "keys: every key of every section with its type and meaning.\n"
        "A search file is shown and checked too: with --data a trial of it is opened.\n"
        "Layers, the later over the earlier: defaults, extends, the file, --config, environment\n"
        "(REGIMEN_TRAINER__EPOCHS=3 sets trainer.epochs), --set.",
        arguments, 1, 2};
    rgm_experiment *experiment = NULL;
    rgm_search_file *search = NULL;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    lists = strcmp(rest.items[0], "list") == 0 && rest.count == 1;
    tells = strcmp(rest.items[0], "keys") == 0;
    checks = strcmp(rest.items[0], "check") == 0;
    if (!lists && !tells && ((!checks && strcmp(rest.items[0], "show") != 0) || rest.count != 2))
        return wrong_word(rest.items[0], how.line);
    code = check_options(rest.items[0], full, json, data, over.count + sets.count > 0);
    if (code != EXIT_DONE || lists)
        return code != EXIT_DONE ? code : list(json);
    if (tells)
        return keys(rest.count == 2 ? rest.items[1] : NULL);
    code = either_open(&experiment, &search, rest.items[1], &over, &sets);
    if (code == EXIT_DONE && search != NULL)
        code = checks ? check_search(search, rest.items[1], data)
                      : show_search(search, rest.items[1], full, json);
    else if (code == EXIT_DONE)
        code = checks ? check(experiment, rest.items[1], data) : show(experiment, full, json);
    rgm_experiment_release(experiment);
    rgm_search_file_release(search);
    return code;
}
