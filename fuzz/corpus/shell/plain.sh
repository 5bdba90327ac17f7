ls -la && git status || echo "a b" | wc -l; pwd
