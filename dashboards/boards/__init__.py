"""The five dashboards."""
