"""``python -m ringprism``."""

from ringprism.cli import main

main()
