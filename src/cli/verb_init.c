/* regimen init: folders to begin with. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
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

static const verb verbs[] = {
    {"trial", init_trial, "a model and data of one's own in C, with a search over it"},
};

int verb_init(int argc, char **argv)
{
    return verb_family("init", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
