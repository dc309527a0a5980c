# ruff: noqa: E501 -- PromQL is read best in few lines
"""The PromQL of the panels, apart from how they look; short names of metrics, checked when they are expanded."""
