"""`inflight compare`: two result folders in, a verdict out, told as text, Markdown, JSON or a page.

`by_turns` measures both, `sides` finds A and B, `plans` tells why they cannot be compared, `judged` asks
streaming/analysis, `told` and `markdown` write it down; `baselines` keeps what a later comparison needs.
"""
