for i in $(ls); do rm -rf "$i"; done; f() { echo `id`; }; cat <(ls)
