#!/bin/sh
# Plays Node with a kernel in it, for tests that need none: a few words stand for JavaScript.
if [ "$1" = --version ]; then
    echo v24.13.1
    exit
fi
result() {
    printf '{"type":"exec_result","id":"%s","ok":%s,"output":"%s","error":%s}\n' "$1" "$2" "$3" "$4"
}
n_pieces=0
while read -r line; do
    id=$(printf %s "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
    case $line in
    '{"type":"run_tool_result"'*) result "$exec" true "$(printf %s "$line" | sed 's/.*,"ok"/ok/; s/[{}"\\]//g; s/[0-9a-f-]*-tool/tool/')" null ;;
    *'"code":"count"'*)
        n_pieces=$((n_pieces + 1))
        result "$id" true "$n_pieces" null
        ;;
    *'"code":"where"'*) result "$id" true "$CODEX_JS_REPL_HOME $*" null ;;
    *'"code":"throw"'*) result "$id" false "" '"boom"' ;;
    *'"code":"babble"'*)
        echo 'this is no message'
        result unknown true "of nobody" null
        result "$id" true "sense" null
        ;;
    *'"code":"die"'*)
        echo 'a last word' >&2
        exit 7
        ;;
    *'"code":"hang"'*) ;;
    *'"code":"tool '*)
        exec=$id
        name=$(printf %s "$line" | sed 's/.*"code":"tool \([a-z_]*\)".*/\1/')
        printf '{"type":"run_tool","id":"%s-tool-0","exec_id":"%s","tool_name":"%s","arguments":"{}"}\n' "$id" "$id" "$name"
        ;;
    esac
done
