"""python -m evenkeel"""
import sys

from .cli import main

sys.exit(main())
