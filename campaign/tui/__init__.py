"""The terminal UI: a face on the operations and the ledger's reads, without rules of its own."""
