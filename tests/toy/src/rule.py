# Whether the bug is in.
BUG = True
