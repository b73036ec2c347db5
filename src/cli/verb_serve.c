/* regimen serve: the page, until it is told to stop. */
#include <regimen/web.h>

#include "cli.h"

static const char *const default_folders[] = {"runs", "experiments"};

/* Those that are named; else those of the defaults that are there. */
static rgm_status choose_folders(text_list *folders)
{
    if (folders->count > 0)
        return RGM_OK;
    for (int i = 0; i < 2; i++)
        if (rgm_path_is_folder(default_folders[i]))
            folders->items[folders->count++] = default_folders[i];
    if (folders->count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no folder 'runs' or 'experiments' here; name "
                                           "the folders whose runs are to be shown");
    return RGM_OK;
}

static rgm_status serve(const rgm_web_options *options)
{
    rgm_status status = RGM_OK;
    rgm_text line = {0};
    rgm_web *web = NULL;

    console_catch_signals();
    RGM_GO(rgm_web_open(&web, options));
    RGM_GO(rgm_text_printf(&line, "serve    %s\n", rgm_web_address(web)));
    if (print_exact(line.data) != EXIT_DONE)
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "the address could not be told"));
    say("serve", "open this address in a browser; Ctrl-C ends it");
    RGM_GO(rgm_web_serve(web, console_is_stopped, NULL));
    say("serve", "ended");
done:
    rgm_web_close(web);
    rgm_text_clear(&line);
    return status;
}

int verb_serve(int argc, char **argv)
{
    rgm_web_options options = {.subject = &rgm_trial_subject};
    const argument arguments[] = {
        {"listen", ARG_TEXT, &options.listen, "ADDRESS:PORT",
         "answer there (default: 127.0.0.1:6006; port 0: any that is free)"},
        {"master", ARG_TEXT, &options.master, "URL",
         "show this master's experiments too, with the token of $REGIMEN_TOKEN"},
        {"read-only", ARG_FLAG, &options.read_only, NULL, "nothing is steered from the page"},
        {"allow-remote", ARG_FLAG, &options.allow_remote, NULL,
         "--listen may be an address that others reach: read only, and not encrypted"},
        {"allow-control", ARG_FLAG, &options.allow_control, NULL,
         "... and who has the token may steer from there"},
        {0}};
    const usage how = {
        "serve [RUNS...] [--listen ADDRESS:PORT] [--master URL] [--read-only]",
        "Watch, compare and steer runs and searches from a browser on this machine. RUNS are run\n"
        "folders, folders of them, and folders of masters (default: runs and experiments). The\n"
        "address is printed once, with a token that is drawn anew at each start.",
        arguments, 0, 255};
    text_list folders;
    rgm_status status;

    READ_ARGUMENTS(&folders, &how, argc, argv);
    status = options.master != NULL && folders.count == 0 ? RGM_OK : choose_folders(&folders);
    options.folders = folders.items;
    options.folder_count = folders.count;
    if (status == RGM_OK)
        status = serve(&options);
    return report(status);
}
