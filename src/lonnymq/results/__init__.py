"""What calls answer: a word, or a frozen dataclass whose fields are the columns of the SQL function."""

from lonnymq.results.history import *
from lonnymq.results.messages import *
from lonnymq.results.queue import *
