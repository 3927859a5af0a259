"""`python -m lonnymq.cli`: the same as `lonnymq`, where scripts are not on the path."""

from lonnymq.cli import main

main()
