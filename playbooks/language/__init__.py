"""The language: YAML with marks -> strict shapes -> references checked -> frozen playbooks."""
