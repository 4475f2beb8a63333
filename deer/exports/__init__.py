"""Finished reports in other forms, and the evidence behind them in one file that can be checked.

Nothing here asks the network, and nothing decides where a file goes.
"""
