"""With root: a network namespace for each part of a lab, so that links can be broken packet by packet.

layout      addresses, devices and links of a lab, as data
faults      what becomes of the packets of each direction, by the faults of their link
commands    both of them as text for ip, tc and nft
namespaces  the wiring that runs these
needs       what this machine has to have for it
holder      a program: keeps the namespaces
packets     a program: lets packets wait where the kernel has no netem; delay_line is its arithmetic
"""
