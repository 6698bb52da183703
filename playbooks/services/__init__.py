"""The kinds of service that can be restarted, one module each."""
