bash -c "bash -c 'ls'"
