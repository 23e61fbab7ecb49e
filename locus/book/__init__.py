"""The book: chapters, figures, tables and pages. It needs the repository, and is not in the wheel."""
