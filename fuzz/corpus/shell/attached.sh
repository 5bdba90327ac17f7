A=1 make all > log 2>&1 <<< x # note
