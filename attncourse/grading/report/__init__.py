"""What is kept and shown of a run: journal, tables, pages."""
