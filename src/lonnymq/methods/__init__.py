"""The queue's methods by subject, for synchronous and asynchronous code side by side.

`Queue` and `AsyncQueue` are put together from these classes: a method is one call of one SQL function.
"""
