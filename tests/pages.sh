# What tests of pages share.

# A scratch folder that has what the root of the repository has, with this build's command.
open_pages() {
    repo=$PWD
    mkdir "$work/root" "$work/bin"
    ln -s "$regimen" "$work/bin/regimen"
    PATH=$work/bin:$PATH
    cd "$work/root" || exit 1
    for name in configs docs examples include tests scripts cmake src README.md CMakeLists.txt Makefile LICENSE NOTICE; do
        ln -s "$repo/$name" "$name"
    done
    ln -s "$RGM_BUILD" build
}

# commands_of PAGE: the lines of its console blocks that begin with "$ ", without comments; a line that ends in '\' goes on.
commands_of() {
    awk '/^```/ { console = $0 == "```console"; next }
         console && (sub(/^\$ /, "") || goes_on) { sub(/  +# .*/, ""); goes_on = sub(/\\$/, ""); printf "%s%s", $0, goes_on ? "" : "\n" }' "$repo/$1"
}

# type_page PAGE LEAST: all of them; what they print is in `told`. LEAST: fewer would mean that none were found.
type_page() {
    commands_of "$1" >commands
    [ "$(wc -l <commands)" -ge "$2" ] || fail "$1: only $(wc -l <commands) commands were found"
    : >told
    while read -r line; do
        "${type:-type_line}" "$line"
        cat "$work/out" "$work/err" >>told
    done <commands
}

type_line() {
    expect 0 sh -c "$1" </dev/null
}
