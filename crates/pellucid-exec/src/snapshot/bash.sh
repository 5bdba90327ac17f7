if [ -z "${BASH_ENV-}" ] && [ -r ~/.bashrc ]; then . ~/.bashrc; fi
printf '\n%s\n' "$PELLUCID_MARKER"
unset PELLUCID_MARKER
# Where a command starts is not for the snapshot to say.
export -n PWD OLDPWD
declare -f
set +o | while IFS= read -r option; do
    case $option in 'set -o '*) printf '%s\n' "$option" ;; esac
done
alias -p
export -p
