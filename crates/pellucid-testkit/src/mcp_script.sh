cd "$1" || exit 9
[ -e exit ] && exit 3
echo "server says hello" >&2
pending=
while IFS= read -r line; do
  printf '%s\n' "$line" >> asked
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  method=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0",\("id":[0-9]*,\)\{0,1\}"method":"\([^"]*\)".*/\2/p')
  name=
  [ "$method" = tools/call ] && name=$(printf '%s' "$line" | sed -n 's/.*[,{]"name":"\([^"]*\)".*/_\1/p')
  file=$(printf '%s' "$method$name" | tr / _)
  if [ -e "question$name" ] && [ -n "$id" ] && [ -n "$name" ]; then
    printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":%s}\n' "$(cat "question$name")"
    [ -e "leaves" ] && exit 0
    pending=$id pending_file=$file
    continue
  fi
  case $line in
    '{"jsonrpc":"2.0","id":"q",'*) id=$pending file=$pending_file ;;
  esac
  [ -n "$id" ] || continue
  answer='"error":{"code":-32601,"message":"no such method"}'
  [ -e "$file" ] && answer=$(cat "$file")
  [ -n "$answer" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
