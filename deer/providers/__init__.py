"""The outside world behind the ports of `deer.ports`: models, search, pages and the store.

Whatever a service answers becomes a value of `deer.models` or an error of `deer.errors`; no provider retries.
"""
