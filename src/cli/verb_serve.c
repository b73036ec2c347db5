/* regimen serve: the page, until it is told to stop. */
#include <regimen/web.h>

#include "cli.h"
#include "token_place.h"

#define DEFAULT_ADDRESS "127.0.0.1:6006"

static const char *const default_folders[] = {"runs", "experiments"};

/* Those that are named; else those of the defaults. One may not be there yet, as before the first
 * search; where none is, a name is wrong or the command was started elsewhere. */
static rgm_status choose_folders(text_list *folders)
{
    bool named = folders->count > 0, any = false;

    for (int i = 0; i < 2 && !named; i++)
        folders->items[folders->count++] = default_folders[i];
    for (int64_t i = 0; i < folders->count; i++)
        any = any || rgm_path_is_folder(folders->items[i]);
    if (!any && named)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no folder '%s'", folders->items[0]);
    if (!any)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no folder 'runs' or 'experiments' here; name "
                                           "the folders whose runs are to be shown");
    for (int64_t i = 0; i < folders->count && named; i++)
        if (!rgm_path_exists(folders->items[i]))
            say("serve", "there is no folder '%s' yet: it is shown once it is there",
                folders->items[i]);
    return RGM_OK;
}

/* A file that the user names is made where there is none; what else is wrong with it is an error.
 */
static rgm_status load_named(rgm_web_secrets *secrets, const char *path, bool fresh)
{
    rgm_status status = fresh ? RGM_ERR_NOT_FOUND : rgm_web_secrets_read(secrets, path);

    return status != RGM_ERR_NOT_FOUND ? status : rgm_web_secrets_load(secrets, path, true);
}

/* Where the token cannot be kept the page is served all the same. */
static rgm_status load_secrets(rgm_web_options *options, rgm_web_secrets *secrets, const char *file,
                               bool fresh)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    if (file != NULL) {
        options->secrets = secrets;
        return load_named(secrets, file, fresh);
    }
    RGM_GO(
        token_place(&path, "serve", options->listen != NULL ? options->listen : DEFAULT_ADDRESS));
    if (path == NULL)
        goto done;
    status = rgm_web_secrets_load(secrets, path, fresh);
    if (status == RGM_ERR_IO || status == RGM_ERR_NOT_FOUND) {
        say("token", "it is another one at the next start: %s", rgm_error_message());
        status = RGM_OK;
        goto done;
    }
    if (status == RGM_OK)
        options->secrets = secrets;
done:
    rgm_free(path);
    return status;
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
    rgm_search_subject subject = rgm_trial_subject;
    rgm_web_options options = {.subject = &subject};
    rgm_web_secrets secrets;
    const char *file = NULL;
    bool fresh = false;
    const argument arguments[] = {
        {"listen", ARG_TEXT, &options.listen, "ADDRESS:PORT",
         "answer there (default: " DEFAULT_ADDRESS "; port 0: any that is free)"},
        {"master", ARG_TEXT, &options.master, "URL",
         "show this master's experiments too, with the token of $REGIMEN_TOKEN"},
        {"new-token", ARG_FLAG, &fresh, NULL,
         "draw another token: addresses and browsers that were let in before are out"},
        {"token-file", ARG_TEXT, &file, "FILE",
         "the token of this file's first line (mode 600), which is made where there is none"},
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
        "address is printed once, with a token that stays the same at the next start.",
        arguments, 0, 255};
    text_list folders;
    rgm_status status;

    READ_ARGUMENTS(&folders, &how, argc, argv);
    subject.rows = NULL; /* what others send is not loaded as code */
    status = options.master != NULL && folders.count == 0 ? RGM_OK : choose_folders(&folders);
    options.folders = folders.items;
    options.folder_count = folders.count;
    if (status == RGM_OK)
        status = load_secrets(&options, &secrets, file, fresh);
    if (status == RGM_OK)
        status = serve(&options);
    return report(status);
}
