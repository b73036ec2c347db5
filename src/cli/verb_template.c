/* regimen template: what experiment files begin with. */
#include "verb_experiment.h"

#include <regimen/registry.h>

#include <string.h>

/* A map, which itself begins with nothing. */
static rgm_status check_template(const char *path)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;

    RGM_GO(rgm_yaml_load(&yaml, path));
    const rgm_yaml_node *root = rgm_yaml_root(yaml);
    if (root->kind != RGM_YAML_MAP)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s is no map of sections", path));
    if (rgm_yaml_find(root, "template") != NULL || rgm_yaml_find(root, "extends") != NULL)
        RGM_GO(RGM_FAIL(
            RGM_ERR_CONFIG,
            "%s begins with another file (template, extends), which a template does not", path));
done:
    rgm_yaml_release(yaml);
    return status;
}

static rgm_status store(const char *where, const char *name, const char *from)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *folder = NULL, *data = NULL;
    int64_t size;

    RGM_GO(check_template(from));
    RGM_GO(rgm_template_folder(&folder, where));
    RGM_GO(rgm_template_path(&path, where, name));
    RGM_GO(rgm_file_load(&data, &size, from, 1 << 20));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(rgm_file_save_own(path, data, size));
    say("template", "%s, for files that say template: %s", path, name);
done:
    rgm_free(path);
    rgm_free(folder);
    rgm_free(data);
    return status;
}

static int template_store(int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {"template store NAME FILE",
                       "Keep a file as a template, in place of the one that has its name. What a "
                       "file says\n"
                       "itself goes before its template's; maps are merged, anything else is "
                       "replaced.",
                       arguments, 2, 2};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return report(store(where, rest.items[0], rest.items[1]));
}

static rgm_status list(int *code, const char *where)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, **names = NULL;
    rgm_text text = {0};
    int64_t count = 0;

    RGM_GO(rgm_template_folder(&folder, where));
    if (rgm_path_is_folder(folder))
        RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        size_t size = strlen(names[i]);

        if (size > 5 && strcmp(names[i] + size - 5, ".yaml") == 0)
            RGM_GO(rgm_text_printf(&text, "%.*s\n", (int)size - 5, names[i]));
    }
    if (text.size == 0)
        say("none", "no templates in %s", folder);
    else
        *code = print_text(text.data);
done:
    rgm_names_release(names, count);
    rgm_text_clear(&text);
    rgm_free(folder);
    return status;
}

static int template_list(int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {"template list", "The names of stored templates.", arguments, 0, 0};
    int code = EXIT_DONE;
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    rgm_status status = list(&code, where);
    return status != RGM_OK ? report(status) : code;
}

/* Print it, or remove it. */
static rgm_status look(int *code, const char *where, const char *name, bool removes)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *data = NULL;
    int64_t size;

    RGM_GO(rgm_template_path(&path, where, name));
    if (!rgm_path_exists(path))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no template '%s' (%s)", name, path));
    if (removes) {
        RGM_GO(rgm_folder_remove(path)); /* a file, or a link that somebody made */
        say("removed", "%s", path);
        goto done;
    }
    RGM_GO(rgm_file_load(&data, &size, path, 1 << 20));
    *code = print_text(data);
done:
    rgm_free(path);
    rgm_free(data);
    return status;
}

/* show and remove: argv[0] says which. */
static int template_look(int argc, char **argv)
{
    bool removes = strcmp(argv[0], "remove") == 0;
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {removes ? "template remove NAME" : "template show NAME",
                       removes ? "Experiments keep what they began with."
                               : "The template as it was stored.",
                       arguments, 1, 1};
    int code = EXIT_DONE;
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    rgm_status status = look(&code, where, rest.items[0], removes);
    return status != RGM_OK ? report(status) : code;
}

static const verb verbs[] = {
    {"store", template_store, "keep a file under a name"},
    {"list", template_list, "those there are"},
    {"show", template_look, "one as it was stored"},
    {"remove", template_look, "remove one"},
};

int verb_template(int argc, char **argv)
{
    return verb_family("template", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
