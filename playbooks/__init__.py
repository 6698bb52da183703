"""Action: the playbook language, plans, hosts, services and parsers."""
