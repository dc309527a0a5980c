"""`inflight report`: the price of a change, from final rows and the events of the network.

Pure: `model`, `windows`, `price`, `choose`; `text`, `html` and `picture` write it down. The shell: `sources`
reads rows and events, `prometheus` asks when alerts fired.
"""
