"""From the series of a limit to the equation that it satisfies, and to the equation's solution."""
