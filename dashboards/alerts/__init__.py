"""Alert and recording rules as data, and the files and Grafana rules that are made of them."""
