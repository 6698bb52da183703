"""The program that runs on a host: standard library only, Python 3.8 or newer."""
