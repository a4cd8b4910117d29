"""Causes that act as the categories they are: a likelihood by district, in which equations see values and not what is
behind them."""
