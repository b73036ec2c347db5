/* regimen config: an experiment file merged and checked, and the keys there are. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static int show(const char *path, const text_list *sets)
{
    rgm_experiment *experiment = NULL;
    int code;

    if (rgm_experiment_load(&experiment, path, sets->items, sets->count) != RGM_OK) {
        report(RGM_ERR_CONFIG);
        return EXIT_USAGE;
    }
    code = print_text(rgm_experiment_text(experiment));
    rgm_experiment_release(experiment);
    return code;
}

static int keys(const char *section)
{
    rgm_text text = {0};
    rgm_status status = rgm_experiment_keys(&text, section);
    int code = status == RGM_OK ? print_text(text.data) : report(status);

    rgm_text_clear(&text);
    return code;
}

int verb_config(int argc, char **argv)
{
    text_list sets = {.count = 0}, rest;
    const argument arguments[] = {
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key"},
        {0}};
    const usage how = {"config show FILE.yaml [--set KEY=VALUE]... | config keys [SECTION]",
                       "show: the file merged with what it extends and --set, after every check.\n"
                       "keys: every key of every section with its type and meaning.",
                       arguments, 1, 2};
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    if (strcmp(rest.items[0], "show") == 0 && rest.count == 2)
        return show(rest.items[1], &sets);
    if (strcmp(rest.items[0], "keys") == 0)
        return keys(rest.count == 2 ? rest.items[1] : NULL);
    return usage_error("usage: regimen %s", how.line);
}
