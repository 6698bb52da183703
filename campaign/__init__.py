"""The application: workspace, ledger, engine, reports and the command line."""

__version__ = "0.1.0"
