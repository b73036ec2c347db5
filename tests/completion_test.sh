#!/bin/sh
# Completion offers what --help lists, verb by verb, and does nothing else.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# listed VERB...: the first words of the lines that --help indents by two.
listed() {
    "$regimen" "$@" --help | sed -n 's/^  \([a-z-][a-z0-9-]*\) .*/\1/p' | sort
}

verbs=$(listed)
[ "$("$regimen" --complete "" | sort)" = "$verbs" ] || fail "regimen --complete '' lists other verbs"
for verb in $verbs; do
    # Options of a verb; verbs of a family.
    case $("$regimen" "$verb" --help | head -1) in
    *" VERB "*)
        "$regimen" --complete "$verb" "" | sort >got
        listed "$verb" >want
        ;;
    *)
        "$regimen" --complete "$verb" -- | sort >got
        { listed "$verb" | grep '^--'; echo --help; } | sort >want
        ;;
    esac
    cmp -s got want || fail "--complete $verb: $(paste -sd ' ' got); --help: $(paste -sd ' ' want)"
done

expect 0 "$regimen" --complete run cora_g
[ "$(paste -sd ' ' out)" = "cora_gat cora_gcn" ] || fail "named experiments: $(cat out)"
expect 0 "$regimen" --complete run cora_gcn --run-dir ""
[ -s out ] && fail "a folder's name is the shell's matter: $(cat out)"
expect 0 "$regimen" --complete master ""
[ "$(grep -v '^-' out | sort | paste -sd ' ')" = "drain enable slots token" ] || fail "what a master is told: $(cat out)"
expect 0 "$regimen" --complete master token ""
[ "$(sort out | paste -sd ' ')" = "create list revoke" ] || fail "tokens: $(cat out)"
expect 0 "$regimen" --complete nonsense x
[ -s out ] && fail "a verb that is none: $(cat out)"
[ "$(ls)" = "$(printf 'err\ngot\nout\nwant')" ] || fail "completing wrote: $(ls)"

# As bash asks.
mkdir -p bin && ln -s "$regimen" bin/regimen
PATH=$work/bin:$PATH bash -c '. <(regimen completion bash)
    COMP_WORDS=(regimen data im); COMP_CWORD=2; _regimen; echo "${COMPREPLY[*]}"
    COMP_WORDS=(regimen runs --rev); COMP_CWORD=2; _regimen; echo "${COMPREPLY[*]}"' >out 2>err
[ "$(paste -sd ' ' out)" = "import --reverse" ] || fail "bash: $(cat out err)"
expect 2 "$regimen" completion csh
says "no completion for 'csh'; did you mean 'zsh'" err

exit $((failures > 0))
