"""The SQLite ledger: one writer, many readers."""
