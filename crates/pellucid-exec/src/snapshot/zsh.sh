if [[ -r ${ZDOTDIR:-$HOME}/.zshrc ]]; then . ${ZDOTDIR:-$HOME}/.zshrc; fi
print -r -- $'\n'"$PELLUCID_MARKER"
unset PELLUCID_MARKER
# Where a command starts is not for the snapshot to say.
typeset +x PWD OLDPWD
functions
for option in ${(f)"$(setopt)"}; do print -r -- "setopt $option"; done
alias -L
export -p
