cd 'a b' && apply_patch <<'EOF'
*** Begin Patch
*** Add File: a
+x
*** End Patch
EOF
