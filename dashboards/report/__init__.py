"""One HTML file of an experiment or of a comparison, which needs no network.

`model` is what is told; `answer` says it in a sentence, `cells` and `tables` in figures, `over_time` and
`pictures` as plots by Bokeh, `page` puts them together. No files are read here, and nothing is asked.
"""
