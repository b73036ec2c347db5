/*
 * regimen completion: scripts for shells. They ask `regimen --complete WORD...`, which answers from
 * the tables that verbs read their arguments by: nothing is listed twice.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *const shells[][2] = {
    {"bash", "_regimen() {\n"
             "    local IFS=$'\\n'\n"
             "    COMPREPLY=($(compgen -W \"$(regimen --complete "
             "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\" -- "
             "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
             "}\n"
             "complete -o default -F _regimen regimen\n"},
    {"zsh", "#compdef regimen\n"
            "_regimen() {\n"
            "    local -a found\n"
            "    found=(${(f)\"$(regimen --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
            "    if (( ${#found} )); then compadd -a found; else _files; fi\n"
            "}\n"
            "compdef _regimen regimen\n"},
    {"fish", "complete -c regimen -a "
             "'(set -l words (commandline -opc); regimen --complete $words[2..-1] "
             "(commandline -ct) 2>/dev/null)'\n"},
};

int verb_completion(int argc, char **argv)
{
    const argument arguments[] = {{0}};
    const usage how = {"completion bash|zsh|fish",
                       "A script that completes verbs, options and named experiments:\n"
                       "    bash: source <(regimen completion bash)        in ~/.bashrc\n"
                       "    zsh:  source <(regimen completion zsh)         in ~/.zshrc\n"
                       "    fish: regimen completion fish | source         in "
                       "~/.config/fish/config.fish",
                       arguments, 1, 1};
    const char *names[3];
    text_list rest;
    int code = arguments_read(&rest, &how, argc, argv);

    for (int i = 0; i < 3; i++)
        names[i] = shells[i][0];
    if (code != EXIT_DONE) {
        for (int i = 0; completing && argc == 2 && i < 3; i++)
            complete_with(names[i], argv[1]);
        return code < 0 ? EXIT_DONE : code;
    }
    for (int i = 0; i < 3; i++)
        if (strcmp(rest.items[0], names[i]) == 0)
            return print_exact(shells[i][1]);
    return usage_error("no completion for '%s'%s", rest.items[0],
                       rgm_did_you_mean(rest.items[0], names, 3, NULL, "there are ").text);
}
