"""Tables come in: files are read strictly, columns become numbers, and what is missing or doubtful is said."""
