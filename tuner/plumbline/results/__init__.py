"""What a database says to people: reports, comparisons, sides, savings, doctor."""
