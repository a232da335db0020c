"""``python -m credalens``: the command line."""

from credalens.cli import main

main()
