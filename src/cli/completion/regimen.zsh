#compdef regimen
_regimen() {
    local -a found
    found=(${(f)"$(regimen --complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( ${#found} )); then compadd -a found; else _files; fi
}
# As a file of $fpath this is the function itself, which is called when it is loaded.
if [[ ${funcstack[1]} == _regimen ]]; then _regimen "$@"; else compdef _regimen regimen; fi
