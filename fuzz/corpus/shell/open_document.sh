apply_patch <<EOF
