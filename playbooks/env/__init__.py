"""Editors of what holds a service's environment: env file, drop-in, serve script."""
