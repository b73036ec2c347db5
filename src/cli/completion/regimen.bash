_regimen() {
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$(regimen --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _regimen regimen
