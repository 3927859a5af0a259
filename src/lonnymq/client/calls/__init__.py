"""The public SQL functions, each described once: `calls.channel_pause(schema, "acme")` is a call to be made.

`lonnymq.client.describe` tells how to describe one more.
"""

from lonnymq.client.calls.group import *
from lonnymq.client.calls.history import *
from lonnymq.client.calls.lease import *
from lonnymq.client.calls.message import *
from lonnymq.client.calls.monitoring import *
from lonnymq.client.calls.queue import *
from lonnymq.client.calls.spark import *
from lonnymq.client.describe import DESCRIPTIONS as DESCRIPTIONS
