"""How a host is reached, and what it can be asked."""
