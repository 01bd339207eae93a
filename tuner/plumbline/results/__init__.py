"""What a database says to people: reports, comparisons, sides, savings, what is wrong with a machine."""
