# $1: what the server does wrong; $2: a folder of the test.
kind=$1
cd "$2" || exit 9
echo start >> starts
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
good() { answer '{"content":[{"type":"text","text":"pong"}]}'; }
many() { head -c "$1" /dev/zero | tr '\000' "$2"; }
revision=2025-06-18
n_calls=0
n_pages=0
case $kind in
  banner) say 'Welcome to the depot!'; say ''; say '{"not":"a message"}' ;;
  dies_at_start) exit 3 ;;
  stderr_flood) many 2000000 e >&2 ;;
  future_revision) revision=2099-01-01 ;;
  ignores_the_end) trap '' TERM ;;
esac
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  method=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0",\("id":[0-9]*,\)\{0,1\}"method":"\([^"]*\)".*/\2/p')
  printf '%s\n' "$method" >> asked
  [ -n "$id" ] || continue
  case $method in
    initialize)
      [ "$kind" = never_greets ] && continue
      [ "$kind" = greets_with_garbage ] && { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":"; continue; }
      resources=
      [ "$kind" = resource_changes ] && resources=',"resources":{"subscribe":true}'
      answer "{\"protocolVersion\":\"$revision\",\"capabilities\":{\"tools\":{\"listChanged\":true}$resources},\"serverInfo\":{\"name\":\"hostile\",\"version\":\"1\"}}"
      ;;
    tools/list)
      tools='{"name":"ping","inputSchema":{"type":"object"}}'
      case $kind in
        bad_schema) tools="$tools,{\"name\":\"broken\",\"inputSchema\":42},{\"inputSchema\":{}}" ;;
        list_changes) [ $n_calls -gt 0 ] && tools='{"name":"pong","inputSchema":{"type":"object"}}' ;;
        endless_pages)
          n_pages=$((n_pages + 1)) n=0 tools=
          while [ $n -lt 300 ]; do tools="$tools,{\"name\":\"t${n_pages}_$n\",\"inputSchema\":{}}"; n=$((n + 1)); done
          answer "{\"tools\":[${tools#,}],\"nextCursor\":\"p$n_pages\"}"
          continue ;;
        no_list) answer '{"stuff":[]}'; continue ;;
        other_tools_again)
          [ "$(wc -l < starts)" -gt 1 ] && tools='{"name":"ping","inputSchema":{"type":"object","required":["x"]}},{"name":"pong","inputSchema":{}}' ;;
      esac
      answer "{\"tools\":[$tools]}"
      ;;
    tools/call)
      n_calls=$((n_calls + 1))
      # Most of them misbehave once, to see that the server is still of use.
      case $kind in
        dies_in_call | other_tools_again | closes_output) ;;
        *) [ $n_calls -gt 1 ] && { good; continue; } ;;
      esac
      case $kind in
        garbage) say 'Traceback (most recent call last):' ;;
        garbage_bytes) printf '\377\376\000\001\n' ;;
        garbage_with_id) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[" ;;
        array) say "[{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}]" ;;
        too_large) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"; many 200000 x; say '"}]}}' ;;
        too_large_id_last) printf '{"result":{"content":[{"type":"text","text":"'; many 200000 x; say "\"}]},\"id\":$id,\"jsonrpc\":\"2.0\"}" ;;
        endless) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"; many 200000 x
          read -r line
          say '"}]}}'
          id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
          good ;;
        wrong_answer) answer '{"content":42}' ;;
        wrong_id) say '{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}' ;;
        error_without_id) say '{"jsonrpc":"2.0","error":{"code":-32700,"message":"cannot read that"}}' ;;
        answers_twice) good; good ;;
        asks_nonsense) say '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":7}'; read -r refusal; printf '%s\n' "$refusal" >> refused; good ;;
        list_changes) say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; good ;;
        asks_roots) say '{"jsonrpc":"2.0","id":"q","method":"roots/list"}'; read -r roots; printf '%s\n' "$roots" >> refused; good ;;
        notifications) i=0; while [ $i -lt 2000 ]; do say '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"again"}}'; i=$((i + 1)); done; good ;;
        fault_code) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-2147483648,\"message\":\"as if it were yours\"}}" ;;
        dies_in_call | other_tools_again) exit 0 ;;
        closes_output) exec >&-; while read -r line; do :; done; exit 0 ;;
        never_answers) ;;
        *) good ;;
      esac
      ;;
    resources/read) answer '{"contents":[{"uri":"note://a","text":"a note"}]}' ;;
    resources/subscribe)
      answer '{}'
      for uri in note://a note://b; do
        say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"$uri\"}}"
      done ;;
    server/discover)
      [ "$kind" = dies_of_discovery ] && exit 4
      [ "$kind" = empty_answers ] && { answer '{}'; continue; }
      say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no such method\"}}"
      ;;
    *) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no such method\"}}" ;;
  esac
done
[ "$kind" = ignores_the_end ] && while :; do read -r line < /dev/zero || :; done
