"""Models as researchers write them: the language, its expansion into index form, and the models shipped."""
