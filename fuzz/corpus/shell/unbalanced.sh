echo "unbalanced 
