if [ -n "${ENV-}" ] && [ -r "$ENV" ]; then . "$ENV"; fi
printf '\n%s\n' "$PELLUCID_MARKER"
# Where a command starts is not for the snapshot to say.
unset PELLUCID_MARKER PWD OLDPWD
set +o | while IFS= read -r option; do
    case $option in 'set -o '*) printf '%s\n' "$option" ;; esac
done
alias | while IFS= read -r definition; do
    case $definition in alias\ *) printf '%s\n' "$definition" ;; *=\'*\') printf 'alias %s\n' "$definition" ;; esac
done
export -p
