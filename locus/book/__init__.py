"""The book: chapters, figures, tables and pages. It needs the repository and is not part of the wheel."""
