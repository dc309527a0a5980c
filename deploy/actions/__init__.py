"""What is done to a network on purpose: by name, with a deadline, undone, and marked.

executors     who carries it out: a lab, ssh, a program; each makes steps of an action
steps         one thing to do, as data, and how it is done
player        actions beside each other, in their time, each with its undo
notes         what outlives kill -9, and is undone at the next start
"""
