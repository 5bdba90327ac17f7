cd "$1" || exit 9
[ -e exit ] && exit 3
echo "server says hello" >&2
while IFS= read -r line; do
  printf '%s\n' "$line" >> asked
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  method=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0",\("id":[0-9]*,\)\{0,1\}"method":"\([^"]*\)".*/\2/p')
  name=
  [ "$method" = tools/call ] && name=$(printf '%s' "$line" | sed -n 's/.*[,{]"name":"\([^"]*\)".*/_\1/p')
  [ -n "$id" ] || continue
  file=$(printf '%s' "$method$name" | tr / _)
  answer='"error":{"code":-32601,"message":"no such method"}'
  [ -e "$file" ] && answer=$(cat "$file")
  [ -n "$answer" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
