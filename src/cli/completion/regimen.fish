complete -c regimen -a '(set -l words (commandline -opc); regimen --complete $words[2..-1] (commandline -ct) 2>/dev/null)'
