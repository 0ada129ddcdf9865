"""One module a command; each turns command-line text into a call of a verb and its result into text, JSON or LaTeX."""
