"""The store: the only code that speaks SQL. One module per aggregate, records in `records`."""
