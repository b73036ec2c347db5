/*
 * regimen completion: scripts for shells. They ask `regimen --complete WORD...`, which answers from
 * the tables that verbs read their arguments by: nothing is listed twice.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "starters.h"

int verb_completion(int argc, char **argv)
{
    const argument arguments[] = {{0}};
    const usage how = {
        "completion bash|zsh|fish",
        "A script that completes verbs, options and named experiments. `make install` installs it\n"
        "for all three; where the command is not installed:\n"
        "    bash: source <(regimen completion bash)        in ~/.bashrc\n"
        "    zsh:  source <(regimen completion zsh)         in ~/.zshrc\n"
        "    fish: regimen completion fish | source         in "
        "~/.config/fish/config.fish",
        arguments, 1, 1};
    const char *names[8];
    text_list rest;
    int count = 0, code = arguments_read(&rest, &how, argc, argv);

    for (; completion_scripts[count].name != NULL; count++)
        names[count] = completion_scripts[count].name;
    if (code != EXIT_DONE) {
        for (int i = 0; completing && argc == 2 && i < count; i++)
            complete_with(names[i], argv[1]);
        return code < 0 ? EXIT_DONE : code;
    }
    for (int i = 0; i < count; i++)
        if (strcmp(rest.items[0], names[i]) == 0)
            return print_exact(completion_scripts[i].text);
    return usage_error("no completion for '%s'%s", rest.items[0],
                       rgm_did_you_mean(rest.items[0], names, count, NULL, "there are ").text);
}
