echo é \
 $((1+
