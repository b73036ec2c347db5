/* regimen init: folders to begin with. */
#include <stdio.h>
#include <string.h>

#include "init_look.h"
#include "starters.h"

static int write_files(const char *folder, const starter_file *files)
{
    rgm_status status = RGM_OK;

    RGM_GO(rgm_folder_make(folder));
    for (; files->name != NULL; files++) {
        char *path = NULL;

        RGM_GO(rgm_path_join(&path, folder, files->name));
        status = rgm_path_exists(path)
                     ? RGM_FAIL(RGM_ERR_IO, "%s is there already, and stays as it is", path)
                     : rgm_file_save(path, files->text, files->size);
        if (status == RGM_OK)
            say("wrote", "%s", path);
        rgm_free(path);
        RGM_GO(status);
    }
done:
    return report(status);
}

static int init_trial(int argc, char **argv)
{
    const argument arguments[] = {{0}};
    const usage how = {"init trial DIR",
                       "Write a trial to begin with into DIR: moons.c (a model and data of one's "
                       "own), its\nMakefile, and moons.yaml, a search over it. `make test` builds "
                       "and tries it.",
                       arguments, 1, 1};
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = write_files(rest.items[0], starter_trial);
    if (code == EXIT_DONE)
        say("next", "make -C %s test", rest.items[0]);
    return code;
}

static int init_program(int argc, char **argv)
{
    const argument arguments[] = {{0}};
    const usage how = {
        "init program DIR",
        "Write a program that is a trial into DIR: train.py, which needs no package, "
        "and\ntrain.yaml, a search over it.",
        arguments, 1, 1};
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = write_files(rest.items[0], starter_program);
    if (code == EXIT_DONE)
        say("next", "regimen trial test %s/train.yaml", rest.items[0]);
    return code;
}

static rgm_status save_text(const char *path, const rgm_text *text)
{
    RGM_TRY(rgm_file_save(path, text->data, text->size));
    say("wrote", "%s", path);
    return RGM_OK;
}

/* What to type next. */
static rgm_status say_next(const seen_folder *seen, const char *file, bool imports)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    if (imports) {
        RGM_GO(seen_print_import(&text, seen));
        RGM_GO(rgm_text_printf(&text, " && "));
    }
    RGM_GO(rgm_text_printf(&text, "regimen run "));
    RGM_GO(seen_print_path(&text, file));
    say("next", "%s", text.data);
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status write_experiment(seen_folder *seen, const char *file)
{
    rgm_status status = RGM_OK;
    rgm_text schema = {0}, experiment = {0};
    char *schema_path = NULL;
    bool ogb = seen_is_ogb(seen->folder), graph = ogb, imported = false;

    if (rgm_path_exists(file))
        return RGM_FAIL(RGM_ERR_IO,
                        "%s is there already, and stays as it is; another experiment: -o FILE",
                        file);

    if (ogb) {
        RGM_GO(seen_look_at_ogb(seen));
    } else {
        RGM_GO(seen_look_at_tables(seen));
        graph = seen_is_graph(seen);
        RGM_GO(graph ? seen_look_at_split(seen) : seen_join_records(seen));
    }
    RGM_GO(seen_choose_label(seen));
    if (graph)
        RGM_GO(seen_check_split(seen));
    if (graph && !ogb) {
        RGM_GO(rgm_path_join(&schema_path, seen->folder, "schema.pbtxt"));
        RGM_GO(seen_print_schema(&schema, seen));
        imported = rgm_folder_has(seen->folder, "data"); /* for an earlier experiment */
    }
    RGM_GO(graph ? seen_print_graph(&experiment, seen, file)
                 : seen_print_records(&experiment, seen, file));
    if (schema_path != NULL && rgm_path_exists(schema_path)) /* of an earlier one, or a user's */
        say("kept", "%s, which was there already", schema_path);
    else if (schema_path != NULL)
        RGM_GO(save_text(schema_path, &schema));
    RGM_GO(save_text(file, &experiment));
    RGM_GO(say_next(seen, file, graph && !ogb && !imported));
done:
    rgm_free(schema_path);
    rgm_text_clear(&schema);
    rgm_text_clear(&experiment);
    return status;
}

static int init_experiment(int argc, char **argv)
{
    seen_folder seen = {0};
    const char *file = NULL;
    char *beside = NULL;
    const argument arguments[] = {
        {"label", ARG_TEXT, &seen.asked, "[TABLE.]COLUMN",
         "what is learned; default: the column label, class, target or y"},
        {"o", ARG_TEXT, &file, "FILE", "the experiment; default: FOLDER/experiment.yaml"},
        {0}};
    const usage how = {
        "init experiment FOLDER [--label [TABLE.]COLUMN] [-o FILE]",
        "Look at the data of a folder and write an experiment to begin with, with comments: of a\n"
        "graph in OGB's layout (raw/), of CSV tables of nodes (a column id) and edges (source and\n"
        "target), for which schema.pbtxt is written too, or of CSV tables of records. Files that\n"
        "are there already stay as they are (docs/data_sets.md).",
        arguments, 1, 1};
    text_list rest;
    rgm_status status = RGM_OK;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    seen.folder = rest.items[0];
    if (!rgm_path_is_folder(seen.folder))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no folder '%s'", seen.folder));
    if (file == NULL)
        RGM_GO(rgm_path_join(&beside, seen.folder, "experiment.yaml"));
    status = write_experiment(&seen, file != NULL ? file : beside);
done:
    seen_clear(&seen);
    rgm_free(beside);
    return report(status);
}

static const verb verbs[] = {
    {"experiment", init_experiment, "an experiment about the data of a folder"},
    {"trial", init_trial, "a model and data of one's own in C, with a search over it"},
    {"program", init_program, "a Python program as a trial, with a search over it"},
};

int verb_init(int argc, char **argv)
{
    return verb_family("init", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
