"""Experiments: a plan, its runs in random order, and the folder of results that they leave.

form, plan      what a plan says; its mistakes with their lines
document        levels of factors and forms put into a plan
order           which runs there are, each repetition a complete block
runner, run     all runs; one of them from its network to its summary
load, streams   the seam of loads; streams of messages, as probes send them
measuring       what is counted, by the same accounting as everywhere
folder          the results, as other programs read them
"""
