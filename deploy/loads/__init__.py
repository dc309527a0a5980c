"""Loads beside the plain stream, as tasks of the probe's engine: README.md.

model      what a load is, as people write it
paths      the paths of a load, which the accounting judges; which process has which ends
windows    how many messages may be out, without an outcome or without an answer
tokens     tokens that are relayed: who passes which on, and when one is made anew
partners   who answers
ends       senders and receivers that do this, on those of the probe
stomp      STOMP behind the probe's seam, by stomp.py
worker     one generator process; supervisor: all of them, one accounting
figures    what the runner wants to know of a load, from rows of windows
ceiling    what one generator process can do on this machine
"""
