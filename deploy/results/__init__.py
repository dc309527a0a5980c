"""Reads what an experiment left: a result folder, checked and bounded, as the report and `compare` take it.

`folder` finds the files and says what is wrong with them; `timelines` makes lines over time of Parquet.
"""
