"""The experiment: rooms drawn and traced, methods trained and evaluated, and the files that a run keeps."""
